import { type DestinationStream, type LevelWithSilent, pino } from 'pino'
import type { BridgeOptions } from '../bridge.ts'
import type { BridgeEvent } from './event.ts'

/** How a bridge logs. */
export interface BridgeLogOptions {
  /** The lowest level that is written. Default `info`; `debug` adds what was ignored. */
  readonly level?: LevelWithSilent | undefined
  /** Where the lines go. Default: standard output. */
  readonly destination?: DestinationStream | undefined
}

/**
 * Logs as JSON lines through pino: one for each inbound, run, ask and delivery, with the ids that tie them together
 * (`executionID`, `sessionID`, `messageID`, `requestID`), for a channel that hears or doesn't, for failures and for what
 * an operator should know. What people and agents wrote is not logged. Spread it into the options of `openBridge`.
 */
export function bridgeLog(
  options: BridgeLogOptions = {},
): Required<Pick<BridgeOptions, 'observers' | 'onError' | 'onNotice'>> {
  const { level = 'info', destination } = options
  const settings = { level, base: { service: 'reply-bridge' }, redact: { paths: secretPaths, censor: '***' } }
  const log = destination ? pino(settings, destination) : pino(settings)
  return {
    observers: [
      (event) => {
        const { at: _, ...fields } = event
        log[levelOf(event)](fields, messageOf(event))
      },
    ],
    onError: (error) => log.error({ error: { name: error.name, ...typeOf(error), message: error.message } }, 'failed'),
    onNotice: (notice) => log.info(notice),
  }
}

/** None of these fields is ever set; if one slips in, its value does not show. */
const names = ['token', 'password', 'secret', 'authorization', 'text']
const secretPaths = names.flatMap((name) => [name, `*.${name}`])

function levelOf(event: BridgeEvent): 'debug' | 'info' | 'warn' {
  if (event.type === 'channel') return event.status === 'disconnected' ? 'warn' : 'info'
  if (event.type === 'inbound' && event.verdict === 'ignored') return 'debug'
  if (event.type === 'failures') return event.deliveries + event.prompts + event.rows > 0 ? 'warn' : 'debug'
  if (event.type === 'delivery' && event.undelivered > 0) return 'warn'
  return event.type === 'run' && event.phase === 'ended' && event.outcome !== 'completed' ? 'warn' : 'info'
}

function messageOf(event: BridgeEvent): string {
  switch (event.type) {
    case 'channel':
      return `channel ${event.status}`
    case 'inbound':
      return `inbound ${event.verdict}`
    case 'run':
      return `run ${event.phase}`
    case 'ask':
      return `ask ${event.phase}`
    case 'delivery':
      return 'delivered'
    case 'failures':
      return 'failures listed'
  }
  return event satisfies never
}

function typeOf(error: Error): { readonly type?: string } {
  return 'type' in error && typeof error.type === 'string' ? { type: error.type } : {}
}
