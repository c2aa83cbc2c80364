// The help dialog: keys, and what the states mean.
import { Button } from "../components/base";
import { Dialog } from "../components/dialog";
import { documentationUrl } from "../components/documentation";
import { Viewer } from "../components/layout";
import { type AnyState, State } from "../components/state";
import { closeDialog } from "../dialogs";
import { viewer } from "../session";

const KEYS = [
  ["Ctrl K or /", "Search tenants, objects, forms and hubs"],
  ["j, k", "Next and previous item of a list"],
  ["Enter", "Open the item"],
  ["Esc", "Close a dialog"],
  ["?", "This help"],
] as const;

const STATES: readonly (readonly [AnyState, string])[] = [
  ["Ready", "All resources are as desired, and ready."],
  ["Progressing", "Lynq works on it, or waits for a resource to become ready."],
  ["Failed", "A resource cannot be applied or does not become ready."],
  ["Conflicted", "Another owner has a resource or a field."],
  ["Degraded", "A part works: the page says which part does not."],
  ["Held", "A guard holds deletions until they are approved."],
  ["Invalid", "The specification has an error."],
  ["Paused", "Lynq changes nothing until it is resumed."],
  ["Deleting", "The resources are being removed."],
];

export function HelpDialog() {
  const view = viewer();
  const guide = documentationUrl("docs/how-to/dashboard.md");
  return (
    <Dialog label="Help" class="help" onClose={closeDialog}>
      <header class="dialog-header">
        <h2>Keys</h2>
        <Button kind="plain" onClick={closeDialog}>
          Close
        </Button>
      </header>
      <dl class="keys">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <h2>States</h2>
      <dl class="keys">
        {STATES.map(([state, text]) => (
          <div key={state}>
            <dt>
              <State state={state} />
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {guide && <p><a href={guide} target="_blank" rel="noreferrer">The guide to the dashboard</a></p>}
      {view && <Viewer viewer={view} />}
    </Dialog>
  );
}
