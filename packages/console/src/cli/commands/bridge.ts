import type { ServedBridge } from '@reply/bridge'
import { clean, cleanLine } from '../../format/sanitize.ts'
import { ConsoleError } from '../error.ts'
import { EXIT, errorLine } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import type { ProcessIO } from '../process-io.ts'

/** Which config. */
export interface ConfigChoice {
  /** The bridge's name: its config is in the folder of that name, with those of the user's other bridges. */
  readonly name: string
  /** The path of a config that is elsewhere. */
  readonly config?: string
}

/** The options of `reply bridge`. */
export interface BridgeCommandOptions extends ConfigChoice {
  /** The address for webhooks, and for health and metrics unless `listenHealth` is set. */
  readonly listen?: ListenAddress
  /** A separate address for health and metrics. */
  readonly listenHealth?: ListenAddress
  /** Host names that requests for health and metrics may use, besides `localhost` and IP addresses. */
  readonly allowHost?: readonly string[]
  /** Writes JSON lines to standard output, instead of text to standard error. */
  readonly log?: boolean
}

/** An address to serve requests on. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/**
 * Connects chats with servers until Control-C or SIGTERM, and then resolves with 0. SIGHUP ends it in a terminal, and elsewhere
 * reloads the people of the config. Rejects if the bridge can't start, and with `usage` for a webhook channel without `listen`.
 */
export async function bridge(options: BridgeCommandOptions, io: ProcessIO): Promise<number> {
  const { listen, listenHealth, log } = options
  const { openBridge, bridgeLog, bridgeMetrics, serveBridge } = await loadBridge()
  const path = await configPathOf(options, io)
  const say = (message: string): void => void io.stderr.write(`reply: ${clean(message)}\n`)
  let reload = (): void => {}
  const exit = listenForExit(io, {
    interrupted: () => EXIT.done,
    hungUp: () => {
      // SIGHUP means that the terminal closed, or that a service should reload its config.
      if (io.stdin.isTTY) return EXIT.hungUp
      reload()
      return undefined
    },
  })
  try {
    const metrics = (listen ?? listenHealth) && bridgeMetrics()
    const outputs = log
      ? bridgeLog({ destination: io.stdout })
      : {
          observers: [],
          onError: (error: Error) => void io.stderr.write(`${errorLine(error, io.env)}\n`),
          onNotice: say,
        }
    const opened = await openBridge({
      path,
      env: io.env,
      clock: io.clock,
      ...outputs,
      observers: [...(outputs.observers ?? []), ...(metrics ? [metrics.observe] : [])],
    })
    reload = () => void opened.reload()
    const served: ServedBridge[] = []
    try {
      for (const address of addressesOf(options, opened.pageAddress)) {
        served.push(await serveBridge({ bridge: opened, metrics, ...address }))
        outputs.onNotice?.(`Serving ${served.at(-1)?.url}${paths[address.serves]}.`)
      }
      const code = await Promise.race([
        opened
          .start()
          .then(() => listen ?? refuseWebhooks(opened.webhooks()))
          .then(() => exit.code),
        exit.code,
      ])
      return code === EXIT.terminated || code === EXIT.hungUp ? EXIT.done : code
    } finally {
      await opened.stop()
      await Promise.all(served.map(async (one) => await one.close()))
    }
  } finally {
    exit.stop()
  }
}

const paths = {
  all: '/healthz, /readyz, /metrics and /webhooks/<channel>',
  webhooks: '/webhooks/<channel>',
  health: '/healthz, /readyz and /metrics',
  pages: '/r/<run>',
  public: '/webhooks/<channel> and /r/<run>',
} as const

/**
 * Returns the addresses to serve, with what each serves. `listen` serves only what is public if there is a `listenHealth`. Pages have an
 * address of their own if the config has one.
 */
function addressesOf({ listen, listenHealth, allowHost: allowedHosts }: BridgeCommandOptions, pageAddress?: string) {
  const main = listen && ({ ...listen, allowedHosts, serves: listenHealth ? 'public' : 'all' } as const)
  const pages = pageAddress === undefined ? undefined : ({ ...addressIn(pageAddress), serves: 'pages' } as const)
  const health = listenHealth && ({ ...listenHealth, allowedHosts, serves: 'health' } as const)
  return [main, health, pages].filter((one) => one !== undefined)
}

/** Reads `<host>:<port>`. */
function addressIn(text: string): ListenAddress {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) }
}

/** Checks each part of the config, and prints what is missing. Exits with 1 if a bridge could not use all of it. */
export async function checkConfig(options: ConfigChoice, io: ProcessIO): Promise<number> {
  const { checkBridge } = await loadBridge()
  const checked = await checkBridge({ path: await configPathOf(options, io), env: io.env, clock: io.clock })
  for (const { part, isUsable, found } of checked) {
    // A config may have several errors, one per line.
    const lines = clean(found).trim().split('\n').join('\n  ')
    io.stdout.write(`${isUsable ? '✓' : '✗'} ${cleanLine(part)}: ${lines}\n`)
  }
  return checked.every(({ isUsable }) => isUsable) ? EXIT.done : EXIT.failed
}

/** The options of `reply bridge failed`. */
export interface FailedCommandOptions extends ConfigChoice {
  /** The key of the row to delete. */
  readonly forget?: string
}

/**
 * Lists permanent failures and pending items, also while a bridge runs. Exits with 1 if anything failed. `forget` only
 * deletes a row that was set aside, and exits with 1 if it isn't listed.
 */
export async function listFailures({ forget, ...options }: FailedCommandOptions, io: ProcessIO): Promise<number> {
  const { listFailed, forgetRow } = await loadBridge()
  const where = { path: await configPathOf(options, io), env: io.env }
  if (forget !== undefined) {
    const count = await forgetRow({ ...where, key: forget })
    const result = count === 1 ? '1 row was forgotten.' : `${count} rows were forgotten.`
    io.stdout.write(`${count === 0 ? `No row ${cleanLine(forget)} is listed.` : result}\n`)
    return count === 0 ? EXIT.failed : EXIT.done
  }
  const failed = await listFailed(where)
  for (const { type, at, what, why } of failed) {
    const when = at === 0 ? '' : `${new Date(at).toISOString().slice(0, 19)}Z `
    io.stdout.write(`${type === 'waiting' ? '…' : '✗'} ${when}${cleanLine(what)}\n  ${cleanLine(why)}\n`)
  }
  const isNone = failed.every(({ type }) => type === 'waiting')
  if (isNone) io.stdout.write('No permanent failures.\n')
  return isNone ? EXIT.done : EXIT.failed
}

/**
 * Writes the state of a stopped bridge to a file, or reads one into an empty state, and prints how much that was. Rejects if it
 * can't.
 */
export async function transferState(
  direction: 'export' | 'import',
  file: string,
  options: ConfigChoice,
  io: ProcessIO,
): Promise<number> {
  const { exportState, importState } = await loadBridge()
  const where = { path: await configPathOf(options, io), file, env: io.env, clock: io.clock }
  const onNotice = (notice: string): void => void io.stderr.write(`reply: ${clean(notice)}\n`)
  const { values, entries } = await (direction === 'export' ? exportState(where) : importState({ ...where, onNotice }))
  const counts = `${values} ${values === 1 ? 'value' : 'values'} and ${entries} queue ${entries === 1 ? 'entry' : 'entries'}`
  const result = direction === 'export' ? `Exported ${counts} to` : `Imported ${counts} from`
  io.stdout.write(`${result} ${cleanLine(file)}.\n`)
  return EXIT.done
}

/** Resolves with the path of the config: the one given, or else that of the bridge with this name. */
export async function configPathOf({ name, config }: ConfigChoice, io: ProcessIO): Promise<string> {
  return config ?? (await loadBridge()).defaultConfigPath(name, io.env)
}

/** Imports the package of the bridge. Throws `missing` if it isn't installed. */
export async function loadBridge(): Promise<typeof import('@reply/bridge')> {
  try {
    return await import('@reply/bridge')
  } catch (cause) {
    throw new ConsoleError(
      'missing',
      'The bridge requires @reply/bridge and a package for each channel. Run for example `npm install @reply/bridge @reply/telegram`.',
      {
        cause,
      },
    )
  }
}

/**
 * Throws `usage` that names the webhook channels, because without --listen the command has no server that a platform could
 * reach. Does nothing without such channels.
 */
function refuseWebhooks(channels: readonly string[]): void {
  if (channels.length === 0) return
  const cure = 'Add --listen, set the channel to polling or a socket, or call openBridge() in your own server.'
  throw new ConsoleError('usage', `${channels.join(', ')} can only receive messages as webhooks. ${cure}`)
}
