// The page of one tenant.
import { Page } from "../components/base";

export function TenantPage({ uid }: { namespace: string; uid: string }) {
  return <Page title={uid}>{null}</Page>;
}
