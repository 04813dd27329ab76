import { Command, InvalidArgumentError } from 'commander'
import type { BridgeCommandOptions } from './commands/bridge.ts'
import type { DemoCommandOptions } from './commands/demo.ts'
import type { InspectCommandOptions } from './commands/inspect.ts'
import type { PromptCommandOptions } from './commands/prompt.ts'
import type { RecordCommandOptions } from './commands/record.ts'
import type { ReplayCommandOptions } from './commands/replay.ts'
import type { WatchCommandOptions } from './commands/watch.ts'
import type { WebCommandOptions } from './commands/web.ts'
import { ConsoleError } from './error.ts'
import type { ProcessIO, Terminal } from './process-io.ts'
import { DEFAULT_URL } from './server-url.ts'

const EXITS = `
Examples:
  $ reply demo
  $ reply prompt "Why does the build fail?"
  $ reply watch --url http://127.0.0.1:4096
  $ reply <command> --help

Exit codes:
  0 completed   1 failed, stopped or aborted   2 usage error   3 timed out   4 lost
  130, 143, 129, 141   ended by a second Control-C, SIGTERM, SIGHUP or a closed pipe.
                       The reply that prompt started is aborted.

Environment:
  OPENCODE_URL                                         the server (OpenCode 1 or 2), if --url is not given
  OPENCODE_PASSWORD                                    the password of OpenCode 2, also with --url
  OPENCODE_SERVER_PASSWORD, OPENCODE_SERVER_USERNAME   the credentials of OpenCode 1 (user: opencode), also with --url
  NO_COLOR, CI, TERM=dumb                              plain text, nothing repainted`

/**
 * Returns every command with its options and help. `loadIO` is called by the chosen command, and `exit` with its exit code.
 * Parsing throws a `CommanderError` instead of ending the process.
 */
export function createProgram(
  io: Terminal,
  loadIO: () => Promise<ProcessIO>,
  version: string,
  exit: (code: number) => void,
): Command {
  const program = new Command('reply')
    .description('Show agents at work in your terminal: watch sessions, send prompts, record and replay.')
    .version(version)
    .addHelpText('after', EXITS)

  withAskOptions(withOutputOptions(withServerOptions(addCommand('watch'))))
    .description(
      'show all replies on a server, including those of other clients, and answer their questions and permissions',
    )
    .option('--session <id>', 'only this session')
    .addHelpText(
      'after',
      examplesText([
        'reply watch',
        'reply watch --url http://127.0.0.1:4096 --session ses_…',
        'reply watch --json | jq -r .answer',
      ]),
    )
    .action(async (options: WatchCommandOptions) =>
      exit(await (await import('./commands/watch.ts')).watch(options, await loadIO())),
    )

  withServerOptions(addCommand('web'))
    .description('show all replies on a server in the browser, and answer their questions and permissions there')
    .argument('[url]', 'the OpenCode server, as with --url')
    .option('--session <id>', 'only this session')
    .option(
      '--port <port>',
      'serve the pages on this port of this computer (default: a free one)',
      usageErrors(parsePort),
    )
    .addHelpText('after', examplesText(['reply web', 'reply web http://127.0.0.1:4096', 'reply web --port 4097']))
    .action(async (url: string | undefined, options: WebCommandOptions) =>
      exit(
        await (await import('./commands/web.ts')).web(
          url === undefined ? options : { ...options, url },
          await loadIO(),
        ),
      ),
    )

  withAskOptions(withOutputOptions(withServerOptions(addCommand('prompt'))))
    .description('send a prompt and show the reply; the exit code says how it ended')
    .argument('<text>', 'the prompt; - reads it from standard input')
    .option(
      '--via <agent>',
      'start an agent in the current folder instead: a name such as claude or codex, or the command line of an agent that speaks the Agent Client Protocol',
    )
    .option('--session <id>', 'use this session instead of a new one')
    .option('--file <path>', 'attach a file (repeatable)', (path: string, all: string[] = []) => [...all, path])
    .option('--agent <name>', 'the agent to use')
    .option('--model <provider/model>', 'the model to use', usageErrors(parseModel))
    .option(
      '--timeout <duration>',
      'abort after this long without progress, for example 90s or 5m. Waiting for an answer does not count, waiting for a retry does',
      usageErrors(parseDuration),
    )
    .option(
      '--asks <what>',
      'what to do with asks without a terminal: wait for another client to answer, or reject',
      usageErrors(parseAsks),
    )
    .addHelpText(
      'after',
      examplesText([
        'reply prompt "Why does the build fail?"',
        'git diff | reply prompt -',
        'reply prompt "List the routes" --json | jq -r .answer',
        'reply prompt --via claude "Why does the build fail?"',
        'reply prompt --via "opencode acp" "Why does the build fail?"',
      ]),
    )
    .action(async (text: string, { timeout, ...options }: PromptCommandOptions & { timeout?: number }) =>
      exit(
        await (await import('./commands/prompt.ts')).prompt(text, { ...options, timeoutMs: timeout }, await loadIO()),
      ),
    )

  withOutputOptions(addCommand('replay'))
    .description('show recordings: server-sent events or JSON lines, gzipped or not')
    .argument('<file...>', 'recordings; - reads standard input')
    .option('--speed <factor>', 'replay speed: 1 is the recorded pace, 10 is ten times faster', usageErrors(parseSpeed))
    .addHelpText(
      'after',
      examplesText([
        'reply replay session.sse',
        'reply replay --speed 1 session.sse.gz',
        'reply replay *.sse --json | jq -r .outcome',
      ]),
    )
    .action(async (files: string[], options: ReplayCommandOptions) =>
      exit(await (await import('./commands/replay.ts')).replay(files, options, await loadIO())),
    )

  withJsonOptions(withServerOptions(addCommand('record')))
    .description('record what a server sends to a file until Control-C, with secrets redacted')
    .argument('<file>', 'the file to write; - writes to standard output')
    .option('--force', 'overwrite an existing file')
    .addHelpText('after', examplesText(['reply record session.sse', 'reply record - | gzip > session.sse.gz']))
    .action(async (file: string, options: RecordCommandOptions) =>
      exit(await (await import('./commands/record.ts')).record(file, options, await loadIO())),
    )

  addCommand('inspect')
    .description(
      'look inside a recording or a live server in the browser: each frame, what became of it, and the reply at any moment',
    )
    .argument('[file|url]', 'a recording, - for standard input, or the URL of a server (default: as for watch)')
    .option('--html <file>', 'write one HTML file that shows the recording without a server, with secrets redacted')
    .option('--force', 'overwrite an existing HTML file')
    .option('--port <port>', 'the port on this computer (default: a free one)', usageErrors(parsePort))
    .option('--directory <path>', "the project on the server (default: the server's own)")
    .addHelpText(
      'after',
      examplesText([
        'reply inspect session.sse',
        'reply inspect http://127.0.0.1:4096',
        'reply inspect session.sse.gz --html session.html',
      ]),
    )
    .action(async (target: string | undefined, options: InspectCommandOptions) =>
      exit(await (await import('./commands/inspect.ts')).inspect(target, options, await loadIO())),
    )

  withOutputOptions(addCommand('demo'))
    .description('run a real OpenCode server with a scripted model, without a key or a network')
    .argument('[scenario]', 'the scenario to play (see --list)')
    .option('--list', 'list the scenarios')
    .option('--url <url>', 'watch this server instead')
    .addHelpText(
      'after',
      examplesText(['reply demo', 'reply demo permission', 'reply demo --url http://127.0.0.1:4096']),
    )
    .action(async (scenario: string | undefined, options: DemoCommandOptions) =>
      exit(await (await import('./commands/demo.ts')).demo(scenario, options, await loadIO())),
    )

  const bridge = addCommand('bridge')
    .description('connect chats to your agents, so that people can prompt, answer and stop them there')
    .option(
      '--name <name>',
      'the name of the bridge. Its config is ~/.config/reply/<name>/reply.json',
      usageErrors(parseName),
      'bridge',
    )
    .option('--config <path>', 'the path of the config if it is somewhere else')
    .option(
      '--listen <address>',
      'serve /webhooks/<channel>, /healthz, /readyz and /metrics on this port of localhost, or on host:port',
      usageErrors(parseListen),
    )
    .option(
      '--listen-health <address>',
      'serve /healthz, /readyz and /metrics here, and only /webhooks/<channel> at --listen',
      usageErrors(parseListen),
    )
    .option(
      '--allow-host <name>',
      'a host name that requests for health and metrics may use, besides localhost and IP addresses (repeatable)',
      (name: string, names: readonly string[] = []) => [...names, name],
    )
    .option('--log', 'log events to standard output as JSON lines, with ids but without message texts')
    .option('--check', 'check the config, its tokens, servers and state, then exit')
    .addHelpText(
      'after',
      examplesText([
        'reply bridge init',
        'reply bridge --check',
        'reply bridge failed',
        'reply bridge state export state.jsonl',
        'reply bridge',
        'reply bridge --config /etc/reply/reply.json',
        'reply bridge --listen 0.0.0.0:8080 --listen-health 9464',
      ]),
    )
    .action(async ({ check, ...options }: BridgeCommandOptions & { readonly check?: true }) => {
      const commands = await import('./commands/bridge.ts')
      exit(await (check ? commands.checkConfig(options, await loadIO()) : commands.bridge(options, await loadIO())))
    })

  bridge.addCommand(
    throwOnExit(new Command('init'))
      .description(
        'ask for a server, a channel, the place of the state and the first person, check them and write the config',
      )
      .option('--force', 'overwrite an existing config')
      .action(async (_: unknown, init: Command) =>
        exit(await (await import('./commands/bridge-init.ts')).bridgeInit(init.optsWithGlobals(), await loadIO())),
      ),
  )

  bridge.addCommand(
    throwOnExit(new Command('failed'))
      .description(
        'list permanent failures: answers that may not have arrived, prompts that may have run, and rows of the state that were set aside',
      )
      .option('--forget <key>', 'delete a row that was set aside')
      .addHelpText(
        'after',
        examplesText([
          'reply bridge failed',
          'reply bridge failed --name work',
          'reply bridge failed --forget route/tg/7/',
        ]),
      )
      .action(async (_: unknown, failed: Command) =>
        exit(await (await import('./commands/bridge.ts')).listFailures(failed.optsWithGlobals(), await loadIO())),
      ),
  )

  const state = throwOnExit(new Command('state')).description(
    'move the state of a stopped bridge, for example from SQLite to PostgreSQL',
  )
  bridge.addCommand(state)
  state.addCommand(
    throwOnExit(new Command('export'))
      .description('write the state to a new file that only you can read')
      .argument('<file>', 'the file to write')
      .addHelpText('after', examplesText(['reply bridge state export state.jsonl']))
      .action(async (file: string, _: unknown, command: Command) =>
        exit(
          await (await import('./commands/bridge.ts')).transferState(
            'export',
            file,
            command.optsWithGlobals(),
            await loadIO(),
          ),
        ),
      ),
  )
  state.addCommand(
    throwOnExit(new Command('import'))
      .description('read an exported file into an empty state')
      .argument('<file>', 'the file to read')
      .addHelpText('after', examplesText(['reply bridge state import state.jsonl --name work']))
      .action(async (file: string, _: unknown, command: Command) =>
        exit(
          await (await import('./commands/bridge.ts')).transferState(
            'import',
            file,
            command.optsWithGlobals(),
            await loadIO(),
          ),
        ),
      ),
  )

  return program

  /** Adds a command with that name to the program, and returns it. */
  function addCommand(name: string): Command {
    const added = throwOnExit(new Command(name))
    throwOnExit(program).addCommand(added)
    return added
  }

  /** Makes a command throw instead of ending the process, and write through `io`. Returns it. */
  function throwOnExit(command: Command): Command {
    return command
      .exitOverride()
      .configureOutput({
        writeOut: (text) => void io.stdout.write(text),
        writeErr: (text) => void io.stderr.write(text),
        outputError: (text, write) => write(text.replace(/^error: /, 'reply: ')),
      })
      .showHelpAfterError('(see --help)')
  }
}

/** Adds the options that name a server, and returns the command. */
function withServerOptions(command: Command): Command {
  return command
    .option(
      '--url <url>',
      `the OpenCode server (default: OPENCODE_URL, else OpenCode 2's service if it runs, else ${DEFAULT_URL})`,
    )
    .option('--directory <path>', "the project on the server (default: the server's own)")
}

/** Adds the options of a command that shows replies, with those for JSON, and returns the command. */
function withOutputOptions(command: Command): Command {
  return withJsonOptions(command)
    .option('--reasoning', "show the model's reasoning")
    .option('--plain', 'plain text, nothing repainted')
}

/** Adds the option for permissions whose input is unknown, and returns the command. */
function withAskOptions(command: Command): Command {
  return command.option(
    '--allow-unseen',
    'let you allow a permission even if the server does not say what it would run',
  )
}

/** Adds the options for JSON lines, and returns the command. */
function withJsonOptions(command: Command): Command {
  return command
    .option(
      '--json',
      'write only JSON lines to standard output, one for each settled reply with its text, answer and reasoning',
    )
    .option('--changes', 'write only JSON lines to standard output, one for each change, without wire events')
}

/** Returns the help text with these command lines as examples. */
function examplesText(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
}

/** Returns the parser with its errors as usage errors, which name the option. */
function usageErrors<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text)
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
    }
  }
}

/** Parses `wait` or `reject`. Throws an `InvalidArgumentError` for anything else. */
function parseAsks(text: string): 'wait' | 'reject' {
  if (text === 'wait' || text === 'reject') return text
  throw new InvalidArgumentError('Use wait or reject.')
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/** Parses `90s`, `5m`, `1h`, `500ms` or `90`. A bare number is seconds. Returns ms. Throws `usage` for 0 and anything else. */
export function parseDuration(text: string): number {
  const [, value = '', unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim()) ?? []
  const ms = value === '' ? 0 : Number(value) * (isUnit(unit) ? UNITS[unit] : 0)
  if (ms > 0 && ms < 2 ** 31) return ms
  throw new ConsoleError('usage', `"${text}" is not a duration. Use for example 90s, 5m or 1h.`)
}

/** Parses a factor above 0, for example `10` or `10x`. Throws `usage` for anything else. */
export function parseSpeed(text: string): number {
  const factor = Number(text.trim().replace(/x$/, ''))
  if (Number.isFinite(factor) && factor > 0) return factor
  throw new ConsoleError(
    'usage',
    `"${text}" is not a speed. Use a factor, for example 1 (the recorded pace) or 10 (ten times faster).`,
  )
}

/** Parses `provider/model`. The model's name may contain slashes. Throws `usage` for anything else. */
export function parseModel(text: string): { providerID: string; modelID: string } {
  const slash = text.indexOf('/')
  if (slash > 0 && slash < text.length - 1) return { providerID: text.slice(0, slash), modelID: text.slice(slash + 1) }
  throw new ConsoleError('usage', `"${text}" is not a model. Use provider/model, as \`opencode models\` lists them.`)
}

/** Whether a duration can have this unit. */
function isUnit(unit: string): unit is keyof typeof UNITS {
  return unit in UNITS
}

/** Returns the name of a bridge, which is also that of its folder. Throws `usage` for other characters. */
function parseName(text: string): string {
  if (/^[A-Za-z\d][\w.-]*$/.test(text)) return text
  throw new ConsoleError('usage', `"${text}" is not a name. Use letters, digits, ".", "-" and "_".`)
}

/** Parses a port, for example `4097`. Throws `usage` for anything else. */
export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port
  throw new ConsoleError('usage', `"${text}" is not a port. Use a number up to 65535, for example 4097.`)
}

/** Parses `9464`, which listens on this computer only, `0.0.0.0:9464` or `[::]:9464`. Throws `usage` for anything else. */
export function parseListen(text: string): { host: string; port: number } {
  const [, host = '127.0.0.1', digits = ''] = /^(?:(\[[\da-f:.]+\]|[\w.-]+):)?(\d{1,5})$/i.exec(text.trim()) ?? []
  const port = Number(digits)
  if (digits !== '' && port < 65_536) return { host: host.replace(/^\[|\]$/g, ''), port }
  throw new ConsoleError('usage', `"${text}" is not an address. Use a port such as 9464, or host:port.`)
}
