import { clean, cleanLine } from '../../format/sanitize.ts'
import { ConsoleError } from '../error.ts'
import { EXIT, sayError } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import type { ProcessIO } from '../process-io.ts'

export interface BridgeCommandOptions {
  readonly config: string
  /** Where to serve health, metrics and webhooks: `port` or `host:port`. */
  readonly listen?: ListenAddress
  /** JSON lines on standard output, in place of text on standard error. */
  readonly log?: boolean
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Connects chats with servers until Control-C. Ends with 1 if another process takes over its state. */
export async function bridge({ config, listen, log }: BridgeCommandOptions, io: ProcessIO): Promise<number> {
  const { openBridge, bridgeLog, bridgeMetrics, serveBridge } = await loadBridge()
  const say = (words: string): void => void io.stderr.write(`reply: ${clean(words)}\n`)
  let isOver = (_: number): void => {}
  const over = new Promise<number>((resolve) => {
    isOver = resolve
  })
  const left = listenForExit(io, { interrupted: () => EXIT.done })
  try {
    const metrics = listen && bridgeMetrics()
    const told = log
      ? bridgeLog({ destination: io.stdout })
      : {
          observers: [],
          onError: (error: Error) => void io.stderr.write(`${sayError(error, io.env)}\n`),
          onNotice: say,
        }
    const opened = await openBridge({
      ...{ path: config, env: io.env, clock: io.clock },
      ...told,
      observers: [...(told.observers ?? []), ...(metrics ? [metrics.observe] : [])],
      onEnd: ({ message }) => {
        say(message)
        isOver(EXIT.failed)
      },
    })
    const served = listen && (await serveBridge({ bridge: opened, metrics, ...listen }))
    if (served) told.onNotice?.(`Serving ${served.url}/healthz, /readyz, /metrics and /webhooks/<channel>.`)
    try {
      const ended = Promise.race([left.code, over])
      const code = await Promise.race([
        opened
          .start()
          .then(() => listen ?? refuseWebhooks(opened.webhooks()))
          .then(() => ended),
        ended,
      ])
      return code === EXIT.terminated || code === EXIT.hungUp ? EXIT.done : code
    } finally {
      await opened.stop()
      await served?.close()
    }
  } finally {
    left.stop()
  }
}

/** Checks each part of the config, and says what is missing. Ends with 1 if a bridge could not use all of it. */
export async function checkConfig({ config }: BridgeCommandOptions, io: ProcessIO): Promise<number> {
  const { checkBridge } = await loadBridge()
  const checked = await checkBridge({ path: config, env: io.env, clock: io.clock })
  for (const { part, isUsable, found } of checked) {
    // A config's faults are a list.
    const lines = clean(found).trim().split('\n').join('\n  ')
    io.stdout.write(`${isUsable ? '✓' : '✗'} ${cleanLine(part)}: ${lines}\n`)
  }
  return checked.every(({ isUsable }) => isUsable) ? EXIT.done : EXIT.failed
}

export async function loadBridge(): Promise<typeof import('@reply/bridge')> {
  try {
    return await import('@reply/bridge')
  } catch (cause) {
    throw new ConsoleError('missing', 'The bridge needs @reply/bridge, and a package for each channel: install them.', {
      cause,
    })
  }
}

/** Without --listen, the command has no server that a platform could reach. */
function refuseWebhooks(names: readonly string[]): void {
  if (names.length === 0) return
  const cure = 'Add --listen, let them poll or use a socket, or call openBridge() in a server of your own.'
  throw new ConsoleError('usage', `${names.join(', ')} would need requests. ${cure}`)
}
