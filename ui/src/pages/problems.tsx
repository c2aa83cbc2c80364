// The start page: what is wrong, grouped by cause.
import { urls } from "../api";
import { Age } from "../components/age";
import { Denials, Empty, Loaded, Page, Panel } from "../components/base";
import { useData } from "../data";
import { namespace } from "../router";

export function ProblemsPage() {
  const problems = useData(urls.problems(namespace.value));
  return (
    <Page title="Problems">
      <Loaded from={problems}>
        {(data) => (
          <>
            <Denials denials={data.denials} />
            {data.groups.length === 0 && <Empty title="No problems" />}
            {data.groups.map((group) => (
              <Panel key={group.key} title={group.title} aside={<Age at={group.since} />}>
                {group.count} · {group.message}
              </Panel>
            ))}
          </>
        )}
      </Loaded>
    </Page>
  );
}
