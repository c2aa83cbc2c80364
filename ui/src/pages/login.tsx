// The login with a token of Kubernetes.
import type { TargetedSubmitEvent } from "preact";
import { useState } from "preact/hooks";
import { ApiError, login } from "../api";
import { Button } from "../components/base";
import { address, navigate } from "../router";
import { loadSession } from "../session";

export function LoginPage() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const field = event.currentTarget.elements.namedItem("token") as HTMLTextAreaElement;
    const token = field.value.trim();
    if (!token) {
      setProblem("Paste a token first.");
      field.focus();
      return;
    }
    setBusy(true);
    setProblem("");
    try {
      await login(token);
      field.value = "";
      await loadSession();
      if (address.value.path === "/login") navigate("/", { replace: true });
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
      field.focus();
    }
    setBusy(false);
  };
  return (
    <main class="login" id="main">
      <form class="panel login-form" onSubmit={(event) => void submit(event)}>
        <img src="/icon.svg" width="48" height="48" alt="" />
        <h1>Sign in to Lynq</h1>
        <p class="muted">
          You see what your Kubernetes token may see. The token stays in the memory of the dashboard server; the
          browser keeps a session cookie only.
        </p>
        <label for="token">Token</label>
        <textarea
          id="token"
          name="token"
          rows={4}
          class="mono"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-describedby="token-help token-problem"
          aria-invalid={problem ? true : undefined}
        />
        <p id="token-problem" class="field-problem" role="alert">
          {problem}
        </p>
        <Button kind="primary" type="submit" disabled={busy}>
          {busy ? "Checking…" : "Sign in"}
        </Button>
        <div id="token-help" class="login-help">
          <p>Get a token for a service account:</p>
          <code>kubectl create token NAME --namespace NAMESPACE</code>
        </div>
      </form>
    </main>
  );
}
