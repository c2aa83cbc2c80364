// How long rows take to become ready: median and 99th percentile by minute, as SVG.
import { useEffect, useRef, useState } from "preact/hooks";
import type { LatencyPoint } from "../api-types";

const HEIGHT = 140;
const LEFT = 44;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 24;
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

export const seconds = (value: number): string =>
  value < 1 ? `${Math.round(value * 1000)} ms` : value < 120 ? `${Number(value.toPrecision(3))} s` : `${Math.round(value / 60)} min`;

const clock = (at: string | number): string =>
  new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The smallest round step with at most four lines up to the maximum. */
const stepFor = (maximum: number): number => STEPS.find((step) => maximum / step <= 4) ?? maximum / 4;

export function LatencyChart({ points }: { points: readonly LatencyPoint[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, entry.contentRect.width)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const maximum = Math.max(...points.map((point) => point.p99), 0.1);
  const step = stepFor(maximum);
  const top = Math.ceil(maximum / step) * step;
  const times = points.map((point) => new Date(point.at).getTime());
  const first = Math.min(...times);
  const last = Math.max(...times);
  const x = (time: number): number =>
    last === first ? width / 2 : LEFT + ((time - first) / (last - first)) * (width - LEFT - RIGHT);
  const y = (value: number): number => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const line = (value: (point: LatencyPoint) => number): string =>
    points.map((point, index) => `${index ? "L" : "M"}${x(times[index] ?? 0).toFixed(1)} ${y(value(point)).toFixed(1)}`).join("");
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  const newest = points.at(-1);

  return (
    <figure class="chart">
      <figcaption>
        <span class="legend">
          <span class="swatch swatch-p50" aria-hidden="true" /> half of the nodes{newest && <> within <strong>{seconds(newest.p50)}</strong></>}
        </span>
        <span class="legend">
          <span class="swatch swatch-p99" aria-hidden="true" /> 99 of 100{newest && <> within <strong>{seconds(newest.p99)}</strong></>}
        </span>
        {newest && <span class="legend">at {clock(newest.at)}</span>}
      </figcaption>
      <div ref={box}>
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={newest ? `Newest minute: half of the nodes within ${seconds(newest.p50)}, 99 of 100 within ${seconds(newest.p99)}` : "No node became ready"}
        >
          {lines.map((value) => (
            <g key={value}>
              <path class="grid" d={`M${LEFT} ${y(value)}H${width - RIGHT}`} />
              <text class="axis" x={LEFT - 8} y={y(value) + 4} text-anchor="end">
                {value ? seconds(value) : "0"}
              </text>
            </g>
          ))}
          <text class="axis" x={x(first)} y={HEIGHT - 6} text-anchor={last === first ? "middle" : "start"}>
            {clock(first)}
          </text>
          {last !== first && (
            <text class="axis" x={x(last)} y={HEIGHT - 6} text-anchor="end">
              {clock(last)}
            </text>
          )}
          <path class="line-p99" d={line((point) => point.p99)} />
          <path class="line-p50" d={line((point) => point.p50)} />
          {points.map((point, index) => (
            <g key={point.at} class="dots">
              <circle class="dot-p99" cx={x(times[index] ?? 0)} cy={y(point.p99)} r="2.5" />
              <circle class="dot-p50" cx={x(times[index] ?? 0)} cy={y(point.p50)} r="2.5" />
              <rect x={x(times[index] ?? 0) - 6} y={TOP} width="12" height={HEIGHT - TOP - BOTTOM} fill="transparent">
                <title>
                  {clock(point.at)}: {point.count} {point.count === 1 ? "node" : "nodes"}, half within {seconds(point.p50)}, 99 of 100 within {seconds(point.p99)}
                </title>
              </rect>
            </g>
          ))}
        </svg>
      </div>
      <table class="visually-hidden">
        <caption>Time from the row to Ready</caption>
        <thead>
          <tr>
            <th scope="col">Minute</th>
            <th scope="col">Nodes</th>
            <th scope="col">Half within</th>
            <th scope="col">99 of 100 within</th>
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.at}>
              <td>{clock(point.at)}</td>
              <td>{point.count}</td>
              <td>{seconds(point.p50)}</td>
              <td>{seconds(point.p99)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
