"""Appends to a session, reads it back and searches it. The server is that of THREADKEEP_ADDRESS, by default the local one."""

import sys

from threadkeep import Client, errors, new_event_id


def main() -> None:
    with Client(app="shop", user_id="alice") as client:
        trip = client.session(f"quickstart-{new_event_id()}")  # a new session, so that every run prints the same
        answer = {"role": "assistant", "content": "Yes, it leaves at 10:05."}
        appended = trip.append("Is flight BA117 on time?", answer, create_if_missing=True)
        print("appended", len(appended.events), "events, the last one at", appended.last_seq)
        for event in trip.events():
            print(event.seq, event.text)
        for hit in trip.search("ba117"):
            print("found at", hit.event.seq)
        try:
            client.session("nowhere").get()
        except errors.SessionNotFound as error:
            print("refused:", error.reason, "of session", error.session_id)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
