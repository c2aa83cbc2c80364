// How long ago something was, as kubectl prints it; the whole time is in the title.
import { signal } from "@preact/signals";

const TICK = 5_000;
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, TICK);
document.addEventListener("visibilitychange", () => (now.value = Date.now()));

/** A duration as kubectl prints it: 45s, 12m, 3h25m, 5d. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) {
    const rest = minutes % 60;
    return hours < 8 && rest ? `${hours}h${rest}m` : `${hours}h`;
  }
  return `${Math.floor(hours / 24)}d`;
}

export function Age({ at, suffix }: { at: string | null; suffix?: string }) {
  if (!at) return <span class="muted">–</span>;
  const time = new Date(at);
  const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" }).format(time);
  return (
    <time class="age" dateTime={at} title={whole}>
      {duration(now.value - time.getTime())}
      {suffix ? ` ${suffix}` : ""}
    </time>
  );
}
