// A short word in a box: a policy, a manager, a reason.
import type { ComponentChildren } from "preact";

export function Tag({ tone, children }: { tone?: "failed" | "warn"; children: ComponentChildren }) {
  return <span class={tone ? `tag tag-${tone}` : "tag"}>{children}</span>;
}
