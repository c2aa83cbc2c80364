import { Page } from "../components/base";

export function NodesPage() {
  return <Page title="Nodes">{null}</Page>;
}
