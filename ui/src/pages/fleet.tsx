import { Page } from "../components/base";

export function FleetPage() {
  return <Page title="Fleet">{null}</Page>;
}
