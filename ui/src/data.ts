// Data of the API in a component: loaded when the address changes, and again after changes.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, fetchUrl, type Url } from "./api";
import type { ChangeMessage } from "./api-types";
import { session } from "./session";
import { onChange } from "./stream";

const SHORTEST_PAUSE = 300;
/** Loading takes at most a fifth of the time, however slow the server is. */
const PAUSE_PER_DURATION = 4;
const RETRY = 3_000;

export interface Data<T> {
  /** The last answer; it stays while the next one is loaded. */
  readonly data: T | null;
  readonly error: ApiError | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

/**
 * Load an endpoint. `concerns` decides which changes load it again; without it, all do; `null`
 * loads nothing.
 */
export function useData<T>(
  url: Url<T> | null,
  concerns: (change: ChangeMessage) => boolean = () => true,
): Data<T> {
  const [state, setState] = useState<Omit<Data<T>, "reload"> & { url: string }>({
    url: "",
    data: null,
    error: null,
    loading: true,
  });
  const relevant = useRef(concerns);
  relevant.current = concerns;
  const trigger = useRef<() => void>(() => undefined);
  const address = url?.url ?? "";

  useEffect(() => {
    if (!url) return undefined;
    const abort = new AbortController();
    let busy = false;
    let again = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let earliest = 0;

    const load = async (): Promise<void> => {
      timer = undefined;
      busy = true;
      again = false;
      const start = performance.now();
      let retry = false;
      try {
        const data = await fetchUrl(url, abort.signal);
        setState({ url: address, data, error: null, loading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = error instanceof ApiError ? error : new ApiError(0, String(error));
        if (problem.status === 401) session.value = { state: "login" };
        retry = problem.status === 0 || problem.status >= 500;
        setState((old) => ({
          url: address,
          data: retry && old.url === address ? old.data : null,
          error: problem,
          loading: false,
        }));
      }
      busy = false;
      const end = performance.now();
      earliest = end + Math.max(SHORTEST_PAUSE, (end - start) * PAUSE_PER_DURATION);
      if (again) schedule();
      else if (retry) timer = setTimeout(() => void load(), RETRY);
    };
    const schedule = (): void => {
      again = true;
      if (busy || timer !== undefined) return;
      timer = setTimeout(() => void load(), Math.max(0, earliest - performance.now()));
    };

    trigger.current = schedule;
    setState((old) => ({ ...old, loading: true }));
    void load();
    const stop = onChange((change) => {
      if (change.reload || relevant.current(change)) schedule();
    });
    return () => {
      abort.abort();
      clearTimeout(timer);
      stop();
    };
  }, [address]);

  return { data: state.data, error: state.error, loading: state.loading, reload: () => trigger.current() };
}
