import type { PermissionAsk } from '../ask.ts'
import { escapeDeceptive } from '../text/escape-deceptive.ts'
import { isShellTool, isSubagentTool } from './tool-name.ts'

/**
 * Whether to offer "always" for a permission, and if not, why. "Always" applies to everyone who uses the server.
 *
 * - `offered`: everything that it would cover is narrow enough.
 * - `none`: the server names nothing that it would cover.
 * - `everything`: `pattern` has no limit, for example `*`.
 * - `runs-anything`: `program` can run any command, from its arguments or from a file that the agent may have written.
 */
export type AlwaysOffer =
  | { readonly type: 'offered' }
  | { readonly type: 'none' }
  | { readonly type: 'everything'; readonly pattern: string }
  | { readonly type: 'runs-anything'; readonly program: string }

/**
 * Decides whether to offer "always" for a permission, from its `always` patterns. Agents that name no `patterns` name
 * an option there, so their command is checked instead. An unknown program counts as narrow.
 */
export function alwaysOffer({ permission, patterns, always, call }: PermissionAsk): AlwaysOffer {
  if (always.length === 0) return { type: 'none' }
  const wide = always.find((pattern) => unlimited.test(pattern))
  if (wide !== undefined) return { type: 'everything', pattern: wide }
  const command = call?.input.command
  const isCommand = isShellTool(permission) || typeof command === 'string' || isShellTool(call?.tool ?? '')
  const covered =
    isCommand && patterns.length > 0
      ? always.map((pattern) => pattern.replace(/^bash\((.*)\)$/i, '$1').replace(/:\*$/, ' *'))
      : []
  // Agents that name no patterns ask for the command as it is. Their option is a sentence: "Yes, for this session".
  const own = patterns.length === 0 && typeof command === 'string' ? [command] : []
  const program = [...covered, ...own]
    .flatMap((text) => text.split(betweenCommands))
    .map(unlimitedProgramIn)
    .find((found) => found !== undefined)
  return program === undefined ? { type: 'offered' } : { type: 'runs-anything', program }
}

/**
 * The calls that "always" would allow in the future.
 *
 * - `same`: the same command again.
 * - `patterns`: later calls that match one of `names`.
 * - `option`: an option of the agent's own, without patterns. Only the agent knows its extent.
 */
export type AlwaysReach =
  | { readonly type: 'same' }
  | { readonly type: 'patterns' | 'option'; readonly names: readonly string[] }

/**
 * Returns the calls that "always" would allow, for an ask that offers it. The names are escaped by `escapeDeceptive`.
 */
export function alwaysReach({ always, patterns, call }: PermissionAsk): AlwaysReach {
  const command = call?.input.command
  if (always.length > 0 && always.every((pattern) => pattern === command)) return { type: 'same' }
  return {
    type: patterns.length === 0 ? 'option' : 'patterns',
    names: always.map((pattern) => escapeDeceptive(pattern)),
  }
}

/**
 * Whether a permission starts a sub-agent. The sub-agent's session doesn't inherit rules that ask, so its calls only
 * ask where its own rules require it (measured on OpenCode 1.1.65 to 1.18.34).
 */
export function startsSubagent({ permission }: PermissionAsk): boolean {
  return isSubagentTool(permission)
}

/** Only wildcards and the characters of folders. */
const unlimited = /^[\s*?/.~]*$/

/** OpenCode 2 covers a whole line of commands. */
const betweenCommands = /[\n;&|(){}`]+|\$\(/

/**
 * Returns the program of a command or pattern if it can run anything, or the word in its place if that could be any
 * program: a wildcard, a variable, a look-alike, or a file outside the system's folders. Undefined for any other,
 * without a program, and for commands of git that can't run programs.
 */
function unlimitedProgramIn(command: string): string | undefined {
  const parts = command
    .trim()
    .replace(/["'\\]/g, '')
    .split(/\s+/)
  const programIndex = parts.findIndex((word) => word !== '' && !/^\w+\+?=/.test(word))
  const word = parts[programIndex]
  if (word === undefined) return undefined
  const [folder, name] = splitPath(word)
  const program = name.toLowerCase().replace(/\.(?:exe|cmd|bat)$/, '')
  // Wildcards, variables and look-alikes: it could be any program.
  if (!/^[\w.+-]+$|^\[{1,2}$/.test(name)) return word
  // The agent may have written this file.
  if (folder !== '' && !/^\/(?:usr\/(?:local\/)?|opt\/homebrew\/)?s?bin\/$/.test(folder)) return word
  if (program === 'git') return isNarrowGitCommand(parts[programIndex + 1]) ? undefined : program
  return programsThatRunAnything.has(program) || versionedProgram.test(program) ? program : undefined
}

/** Splits a path after its last slash. The folder ends with that slash, and is empty for a name alone. */
function splitPath(path: string): readonly [folder: string, name: string] {
  const at = path.lastIndexOf('/') + 1
  return [path.slice(0, at), path.slice(at)]
}

/**
 * Whether a command of git can't run other programs. Git's options before the command set aliases and pagers (`-c`).
 * The other commands can run a given program (`rebase --exec`, `bisect run`, `submodule foreach`, `grep -O`), name a
 * program for the other side (`push --receive-pack`, `fetch --upload-pack`), run hooks, which may be files of the
 * project (`commit`, `checkout`, `merge`), or configure such programs (`config`). https://git-scm.com/docs
 */
function isNarrowGitCommand(command: string | undefined): boolean {
  return command !== undefined && narrowGit.has(command)
}

const narrowGit: ReadonlySet<string> = new Set([
  ...namesIn(
    'add blame branch cat-file describe diff log ls-files ls-tree merge-base mv reflog reset restore rev-list',
  ),
  ...namesIn('rev-parse rm shortlog show stash status tag'),
])

/** Names that carry a version: `python3.12`, `lua5.4`, `gcc-13`. */
const versionedProgram =
  /^(?:python|pypy|ipython|ruby|perl|php|lua|luajit|node|nodejs|tclsh|wish|guile|pip|pipx|gcc|clang|g\+\+|clang\+\+)[\d.-]+w?$/

/**
 * Programs that can run a command from their arguments, their input or a project file. Unintended ways are listed at
 * https://gtfobins.github.io (functions "shell" and "command").
 */
const programsThatRunAnything: ReadonlySet<string> = new Set([
  // Shells.
  ...namesIn(
    'sh bash rbash zsh dash ash fish ksh ksh93 mksh csh tcsh elvish nu xonsh busybox toybox pwsh powershell cmd',
  ),
  ...namesIn('wsl'),
  // Shell builtins.
  ...namesIn(
    'eval exec command builtin source . trap alias coproc enable function time if for while until case do then',
  ),
  ...namesIn('else'),
  // Languages.
  ...namesIn(
    'python pypy ipython pythonw py ruby irb perl php lua luajit node nodejs deno bun bunx tsx ts-node tclsh wish',
  ),
  ...namesIn(
    'expect guile racket sbcl clisp emacs r rscript julia octave ghci runghc runhaskell scala groovy jshell java',
  ),
  ...namesIn('kotlin elixir iex erl osascript swift dart dotnet mono awk gawk mawk nawk sed gsed jrunscript m4 dc'),
  // Programs that run another one.
  ...namesIn(
    'env xargs sudo doas su runuser pkexec nohup timeout nice ionice chrt taskset setsid stdbuf unbuffer watch',
  ),
  ...namesIn(
    'parallel entr find fd fdfind flock script screen tmux chroot unshare nsenter setarch strace ltrace gdb lldb',
  ),
  ...namesIn(
    'perf valgrind capsh at batch crontab systemd-run systemctl launchctl start-stop-daemon run-parts caffeinate',
  ),
  ...namesIn(
    'open xdg-open fakeroot bwrap firejail gnuplot nodemon watchexec dotenv direnv nix nix-shell nix-env hyperfine',
  ),
  // Tools with an option that names a program: `rg --pre`, `sort --compress-program`, `split --filter`, `ip netns exec`.
  ...namesIn('rg ag ack sort split wget ip fzf bat delta'),
  // Other machines and containers.
  ...namesIn('ssh scp sftp mosh rsync telnet nc ncat netcat socat docker podman nerdctl kubectl oc helm lxc vagrant'),
  ...namesIn('ansible ansible-playbook terraform tofu pulumi aws gcloud az'),
  // Builds, tests and packages: they run what the project's files say, or a package's scripts.
  ...namesIn('make gmake cmake ctest ninja meson just task rake bundle gem gradle gradlew mvn mvnw ant sbt bazel buck'),
  ...namesIn(
    'cargo rustc go zig gcc cc clang g++ c++ ld cabal stack mix composer npm npx pnpm pnpx yarn yarnpkg corepack',
  ),
  ...namesIn(
    'lerna nx turbo grunt gulp jest vitest mocha ava cypress playwright webpack vite rollup eslint babel tsup',
  ),
  ...namesIn(
    'pytest tox nox pip pipx uv uvx poetry pdm hatch conda mamba easy_install invoke fab pre-commit husky apt',
  ),
  ...namesIn('apt-get dpkg rpm yum dnf apk pacman brew snap flatpak'),
  // Editors, pagers, archives and databases that have a way out to a shell.
  ...namesIn(
    'vi vim nvim view ex ed nano pico less more man tar bsdtar zip cpio sqlite3 psql mysql mariadb mongo mongosh',
  ),
  ...namesIn('redis-cli ftp tcpdump mail mutt gh hg svn jj'),
])

function namesIn(list: string): readonly string[] {
  return list.split(' ')
}
