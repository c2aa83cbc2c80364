// The typed client of /api/v2. An error carries the server's sentence.
import type {
  ActionRequest,
  ActionResult,
  ErrorBody,
  FleetView,
  FormView,
  HubView,
  NodePage,
  ObjectView,
  PlanMessage,
  PlanProgress,
  PlanView,
  PreviewView,
  ProblemsView,
  RowPage,
  SearchResults,
  SessionView,
  TenantView,
  TopologyView,
} from "./api-types";

const BASE = "/api/v2";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The address of an endpoint; empty parameters are left out. */
export function endpoint(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "" && value !== false) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return BASE + path + (text ? `?${text}` : "");
}

export async function request<T>(url: string, init: RequestInit = {}): Promise<T> {
  const response = await send(url, init);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The dashboard server does not answer. The page tries again by itself.");
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as ErrorBody | null;
  throw new ApiError(response.status, body?.error || `The dashboard server answered ${response.status}.`);
}

/** Load a plan, and report how far it is. */
export async function fetchPlan(url: Url<PlanView>, report: (progress: PlanProgress) => void, signal: AbortSignal): Promise<PlanView> {
  const response = await send(`${url.url}?progress=true`, { signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new ApiError(0, "The connection to the dashboard server was lost: plan again.");
    const lines = (text + value).split("\n");
    text = lines.pop()!;
    for (const line of lines) {
      const message = JSON.parse(line) as PlanMessage;
      if (message.error) throw new ApiError(0, message.error);
      if (message.view) return message.view;
      if (message.progress) report(message.progress);
    }
  }
}

const one = (value: string): string => encodeURIComponent(value);
const post = <T>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<T> =>
  request<T>(endpoint(path), {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

/** Each endpoint as an address with the type of its answer: `useData(urls.fleet("ns"))`. */
export interface Url<T> {
  readonly url: string;
  /** Carries the type only. */
  readonly answer?: T;
}
const get = <T>(path: string, query: Query = {}): Url<T> => ({ url: endpoint(path, query) });

export const urls = {
  session: () => get<SessionView>("/session"),
  problems: (namespace: string) => get<ProblemsView>("/problems", { namespace }),
  fleet: (namespace: string) => get<FleetView>("/fleet", { namespace }),
  nodes: (query: Query) => get<NodePage>("/nodes", query),
  topology: (query: Query) => get<TopologyView>("/topology", query),
  search: (q: string) => get<SearchResults>("/search", { q }),
  tenant: (namespace: string, uid: string) => get<TenantView>(`/tenants/${one(namespace)}/${one(uid)}`),
  object: (query: Query) => get<ObjectView>("/objects", query),
  form: (namespace: string, name: string) => get<FormView>(`/forms/${one(namespace)}/${one(name)}`),
  preview: (namespace: string, name: string, uid: string) =>
    get<PreviewView>(`/forms/${one(namespace)}/${one(name)}/preview`, { uid }),
  formPlan: (namespace: string, name: string) => get<PlanView>(`/forms/${one(namespace)}/${one(name)}/plan`),
  hub: (namespace: string, name: string) => get<HubView>(`/hubs/${one(namespace)}/${one(name)}`),
  hubPlan: (namespace: string, name: string) => get<PlanView>(`/hubs/${one(namespace)}/${one(name)}/plan`),
  rows: (namespace: string, name: string, query: Query) =>
    get<RowPage>(`/hubs/${one(namespace)}/${one(name)}/rows`, query),
};

export const fetchUrl = <T>(url: Url<T>, signal?: AbortSignal): Promise<T> =>
  request<T>(url.url, signal ? { signal } : {});

export const login = (token: string): Promise<void> => post<void>("/login", { token });
export const logout = (): Promise<void> => post<void>("/logout", {});
export const act = (
  action: "sync" | "pause" | "resume" | "reconcile" | "approve",
  body: Partial<ActionRequest> & Pick<ActionRequest, "kind" | "namespace" | "name">,
): Promise<ActionResult> => post<ActionResult>(`/actions/${action}`, body, { "X-Lynq-Action": "true" });
