// The question before an action that can delete.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "./base";
import { Dialog } from "./dialog";

interface Props {
  title: string;
  confirm: string;
  /** The text that must be typed before the button works. */
  typed?: string;
  isDangerous?: boolean;
  isBusy: boolean;
  /** Why the server refused. */
  refusal: string;
  onConfirm: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

export function Confirmation(props: Props) {
  const [text, setText] = useState("");
  const isReady = !props.typed || text === props.typed;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isReady && !props.isBusy) props.onConfirm();
  };
  return (
    <Dialog label={props.title} onClose={props.onClose}>
      <form class="confirmation" onSubmit={submit}>
        <h2>{props.title}</h2>
        {props.children}
        {props.typed && (
          <label>
            <span>Type <strong>{props.typed}</strong> to confirm</span>
            <input class="field" type="text" value={text} autocomplete="off" spellcheck={false} autofocus onInput={(event) => setText(event.currentTarget.value)} />
          </label>
        )}
        {props.refusal && <p class="notice notice-failed" role="alert">{props.refusal}</p>}
        <div class="confirmation-buttons">
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" kind={props.isDangerous ? "danger" : "primary"} disabled={!isReady || props.isBusy}>
            {props.isBusy ? "Sending…" : props.confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
