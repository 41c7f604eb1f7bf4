import { Icon } from "../../components/icons";
import { Ago } from "../../components/time";
import { text } from "../../text";
import type { Fold } from "./folds";

/** What compactions archived here, how much that saved, and a button that shows it. */
export function FoldRow({ fold, isOpen, toggle }: { fold: Fold; isOpen: boolean; toggle: (fold: Fold) => void }) {
  return (
    <div className="fold">
      <Icon name="fold" />
      <div className="content">
        {fold.compactions.map((each) => (
          <p key={each.compactionId}>
            <strong>{text.fold.archived(each.archivedEvents)}</strong>{" "}
            <span className="quiet">
              {text.fold.by(each.strategy, each.actor)} <Ago time={each.createTime} /> ·{" "}
              {text.fold.saved(each.before?.tokens ?? 0n, each.after?.tokens ?? 0n)}
            </span>
          </p>
        ))}
      </div>
      <button type="button" aria-expanded={isOpen} onClick={() => toggle(fold)}>
        {isOpen ? text.fold.hide : text.fold.show(fold.first, fold.last)}
      </button>
    </div>
  );
}
