// Actions on a hub, form or node. They exist only if the server allows actions; its answer is shown as it is.
import { useState } from "preact/hooks";
import { act } from "../api";
import type { ActionRequest, HeldView } from "../api-types";
import { viewer } from "../session";
import { Button } from "./base";
import { Confirmation } from "./confirmation";
import { Command } from "./copy";

type Target = Pick<ActionRequest, "kind" | "namespace" | "name">;
type ActionName = "sync" | "pause" | "resume" | "reconcile" | "approve";

interface Answer {
  message: string;
  isRefused: boolean;
}

const LABELS = { sync: "Sync now", pause: "Pause", resume: "Resume", reconcile: "Reconcile" } as const;
type SimpleAction = keyof typeof LABELS;

/** What an action does that can delete: it is asked before. The others are sent at once. */
const EFFECTS: Readonly<Record<string, string>> = {
  "Hub sync": "The rows are read at once. Nodes of deactivated rows, and of rows that are missing twice, are deleted with their objects; the deletion guard applies.",
  "Hub resume": "The rows are read at once, and everything that has changed during the pause is carried out. Nodes of rows that are gone are deleted with their objects; the deletion guard applies.",
  "Form resume": "Everything that has changed during the pause is carried out: nodes are created, updated and deleted.",
  "Node resume": "Everything that has changed during the pause is carried out: resources are applied, and those that are no longer desired are deleted.",
};

function useAction(target: Target): { answer: Answer | null; isBusy: boolean; send: (action: ActionName, digest?: string) => Promise<boolean>; clear: () => void } {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (action: ActionName, digest = ""): Promise<boolean> => {
    setBusy(true);
    setAnswer(null);
    try {
      const { message } = await act(action, { ...target, digest });
      setAnswer({ message, isRefused: false });
      return true;
    } catch (error) {
      setAnswer({ message: error instanceof Error ? error.message : String(error), isRefused: true });
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { answer, isBusy, send, clear: () => setAnswer(null) };
}

export function Actions({ target, paused }: { target: Target; paused: boolean }) {
  const { answer, isBusy, send, clear } = useAction(target);
  const [asked, setAsked] = useState<SimpleAction | null>(null);
  if (!viewer()?.allowActions) return null;
  const offered: SimpleAction[] = [];
  if (target.kind === "Hub") offered.push("sync");
  if (target.kind === "Node") offered.push("reconcile");
  offered.push(paused ? "resume" : "pause");
  const effect = asked && EFFECTS[`${target.kind} ${asked}`];
  const start = (action: SimpleAction): void => {
    clear();
    if (EFFECTS[`${target.kind} ${action}`]) setAsked(action);
    else void send(action);
  };
  return (
    <div class="actions">
      <div class="actions-buttons" role="group" aria-label={`Actions on ${target.kind} ${target.name}`}>
        {offered.map((action) => <Button key={action} disabled={isBusy} onClick={() => start(action)}>{LABELS[action]}</Button>)}
      </div>
      {!asked && <AnswerLine answer={answer} />}
      {asked && (
        <Confirmation
          title={`${LABELS[asked].replace(" now", "")} ${target.kind.toLowerCase()} ${target.name}?`}
          confirm={LABELS[asked]}
          isBusy={isBusy}
          refusal={answer?.isRefused ? answer.message : ""}
          onConfirm={() => void send(asked).then((isDone) => isDone && setAsked(null))}
          onClose={() => setAsked(null)}
        >
          <p>{effect}</p>
        </Confirmation>
      )}
    </div>
  );
}

function AnswerLine({ answer }: { answer: Answer | null }) {
  return (
    <p class={answer?.isRefused ? "answer answer-refused" : "answer"} role="status">
      {answer?.message}
    </p>
  );
}

/** What the list of held deletions leaves out, and the command that shows it. */
export function MoreHeld({ hub, held }: { hub: Pick<Target, "namespace" | "name">; held: HeldView }) {
  const more = held.count - held.nodes.length;
  if (more <= 0) return null;
  return (
    <p>
      <strong>And {more.toLocaleString("en")} more.</strong> These are the first {held.nodes.length.toLocaleString("en")}; the digest is of
      all {held.count.toLocaleString("en")}. To see all of them: <Command text={`lynq plan --hub ${hub.name} -n ${hub.namespace} --all`} />
    </p>
  );
}

/** The approval of held deletions: of exactly the set that is shown, after the hub's name was typed. */
export function Approval({ hub, held }: { hub: Target; held: HeldView }) {
  const { answer, isBusy, send, clear } = useAction(hub);
  const [shown, setShown] = useState<HeldView | null>(null);
  if (!viewer()?.allowActions) return null;
  const count = (held: HeldView): string => (held.count === 1 ? "1 node" : `${held.count.toLocaleString("en")} nodes`);
  const open = (): void => {
    clear();
    setShown(held);
  };
  return (
    <div class="actions">
      <Button kind="danger" onClick={open}>Approve the deletion…</Button>
      {!shown && <AnswerLine answer={answer} />}
      {shown && (
        <Confirmation
          title={`Delete ${count(shown)}?`}
          confirm={`Delete ${count(shown)}`}
          typed={hub.name}
          isDangerous
          isBusy={isBusy}
          refusal={answer?.isRefused ? answer.message : ""}
          onConfirm={() => void send("approve", shown.digest).then((isDone) => isDone && setShown(null))}
          onClose={() => setShown(null)}
        >
          <p>
            The hub <strong>{hub.name}</strong> deletes {count(shown)} and their objects. This cannot be undone. Objects with
            deletionPolicy Retain and adopted objects are kept.
          </p>
          <ul class="confirmation-list" tabIndex={0} aria-label="Nodes that will be deleted">
            {shown.nodes.map((node) => <li key={node.name}>{node.name}</li>)}
          </ul>
          <MoreHeld hub={hub} held={shown} />
          <p class="muted">
            The approval is of exactly this set, digest <code>{shown.digest}</code>. If a row comes back or another one vanishes
            before, nothing is deleted.
          </p>
          {held.digest !== shown.digest && (
            <p class="notice notice-warn" role="alert">The set has changed since this dialog was opened. Close it and look again.</p>
          )}
        </Confirmation>
      )}
    </div>
  );
}
