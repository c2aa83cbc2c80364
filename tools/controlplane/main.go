// Command controlplane is a whole Kubernetes control plane in one binary: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, KWOK and kubectl, chosen by the first argument.
//
// Each component is the upstream one, unchanged, with its own flags. `lynq cluster up` starts one
// process per component; nothing here knows how they fit together.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// lifelineVariable names the environment variable that says: standard input is a pipe from the
// process that started this one; end when it closes.
const lifelineVariable = "CONTROLPLANE_LIFELINE"

// stopGrace is how long a component may take to stop once its parent is gone.
const stopGrace = 3 * time.Second

// The commands are made only when asked for: the components share process-wide registries
// of flags and metrics and would clash if two of them were set up in one process.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          run(func() *cobra.Command { return apiserver.NewAPIServerCommand() }),
	"kube-controller-manager": run(func() *cobra.Command { return controllermanager.NewControllerManagerCommand() }),
	"kube-scheduler":          run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
}

func main() {
	if len(os.Args) > 1 {
		if component, known := components[os.Args[1]]; known {
			if os.Getenv(lifelineVariable) != "" {
				go endWithParent()
			}
			os.Args = os.Args[1:]
			os.Exit(component())
		}
	}
	names := make([]string, 0, len(components))
	for name := range components {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: controlplane COMPONENT [flags]\ncomponents: %v\n", names)
	os.Exit(2)
}

// endWithParent ends this process when the parent does, however the parent died: the kernel
// closes the pipe even after SIGKILL. (A parent-death signal would fire when the parent's
// *thread* ends, and exists on Linux only.)
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(stopGrace)
	os.Exit(1)
}

func run(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func runKwok() int {
	// Kubernetes' packages register a global --version flag that KWOK registers as well.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}
	ctx, logger := kwoklog.InitFlags(signals.SetupSignalContext(), global)
	ctx, err := kwokconfig.InitFlags(ctx, global)
	if err != nil {
		logger.Error("reading the configuration failed", "err", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(global)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("kwok ended", "err", err)
		return 1
	}
	return 0
}
