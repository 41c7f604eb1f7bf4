"""The languages of the models' providers: prompts into requests, answers and events of a stream into responses. Nothing here
talks to anybody."""
