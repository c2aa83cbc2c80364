// The page of one hub.
import { Page } from "../components/base";

export function HubPage({ name }: { namespace: string; name: string }) {
  return <Page title={name}>{null}</Page>;
}
