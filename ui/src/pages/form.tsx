// The page of one form.
import { Page } from "../components/base";

export function FormPage({ name }: { namespace: string; name: string }) {
  return <Page title={name}>{null}</Page>;
}
