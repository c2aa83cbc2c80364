import { Page } from "../components/base";

export function TopologyPage() {
  return <Page title="Topology">{null}</Page>;
}
