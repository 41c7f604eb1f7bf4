"""Appends to a session, reads it back and searches it. The server is that of THREADKEEP_ADDRESS, by default the local one."""

import sys

from threadkeep import Client, assistant, errors, new_event_id, text_of, user


def main() -> None:
    with Client(app="shop", user_id="alice") as memory:
        trip = f"quickstart-{new_event_id()}"  # one of its own, so that it prints the same every time
        appended = memory.append(trip, user("Is flight BA117 on time?"), assistant("Yes, it leaves at 10:05."), create=True)
        print("appended", len(appended.events), "events, the last one at", appended.last_seq)
        for event in memory.events(trip):
            print(event.seq, text_of(event))
        for hit in memory.search("ba117", session=trip):
            print("found at", hit.event.seq)
        try:
            memory.get_session("nowhere")
        except errors.SessionNotFound as error:
            print("refused:", error.reason, "of session", error.session_id)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
