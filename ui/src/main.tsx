// The dashboard: the page of the address inside the layout.
import { render } from "preact";
import { Empty, Loading, Page } from "./components/base";
import { Layout } from "./components/layout";
import { dialog, startKeys } from "./dialogs";
import { FleetPage } from "./pages/fleet";
import { FormPage } from "./pages/form";
import { HelpDialog } from "./pages/help";
import { HubPage } from "./pages/hub";
import { LoginPage } from "./pages/login";
import { NodesPage } from "./pages/nodes";
import { ProblemsPage } from "./pages/problems";
import { SearchDialog } from "./pages/search";
import { TenantPage } from "./pages/tenant";
import { TopologyPage } from "./pages/topology";
import { address, startRouter } from "./router";
import { loadSession, session } from "./session";
import { applyTheme } from "./theme";

function CurrentPage() {
  const path = address.value.path;
  const [page, ...rest] = path.slice(1).split("/");
  const [first = "", second = ""] = rest.map(decode);
  switch (page) {
    case "":
    case "login":
      return <ProblemsPage />;
    case "fleet":
      return <FleetPage />;
    case "nodes":
      return <NodesPage />;
    case "topology":
      return <TopologyPage />;
    case "tenants":
      return <TenantPage key={path} namespace={first} uid={second} />;
    case "forms":
      return <FormPage key={path} namespace={first} name={second} />;
    case "hubs":
      return <HubPage key={path} namespace={first} name={second} />;
    default:
      return (
        <Page title="Page not found">
          <Empty title="There is no page at this address">
            Go to the <a href="/">problems</a>, or search with Ctrl K.
          </Empty>
        </Page>
      );
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function App() {
  const current = session.value;
  switch (current.state) {
    case "loading":
      return <Loading />;
    case "login":
      return <LoginPage />;
    case "error":
      return (
        <main class="login">
          <Empty title="The dashboard server does not answer">{current.message}</Empty>
        </main>
      );
    case "viewer":
      return (
        <>
          <Layout viewer={current.viewer}>
            <CurrentPage />
          </Layout>
          {dialog.value === "search" && <SearchDialog />}
          {dialog.value === "help" && <HelpDialog />}
        </>
      );
  }
}

applyTheme();
document.addEventListener("DOMContentLoaded", () => {
  startRouter();
  startKeys();
  void loadSession();
  const root = document.getElementById("app");
  if (root) render(<App />, root);
});
