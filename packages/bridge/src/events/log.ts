import { type DestinationStream, type LevelWithSilent, pino } from 'pino'
import type { BridgeObserver } from './emit.ts'
import type { BridgeEvent } from './event.ts'

/** Options of `bridgeLog`. */
export interface BridgeLogOptions {
  /** The lowest level that is logged. Default: `info`. `debug` adds ignored and postponed messages, and a line each second. */
  readonly level?: LevelWithSilent | undefined
  /** Receives the lines, for example `pino.destination('bridge.log')`. Default: standard output. */
  readonly destination?: DestinationStream | undefined
}

/**
 * Logs JSON lines with pino: one for each event, error and notice. Lines of the same run have the same `executionID`, and
 * `sessionID`, `messageID` and `requestID` where they apply. What people and agents wrote is never logged. Spread the
 * result into the options of `openBridge`, for example `openBridge({ path, ...bridgeLog() })`.
 */
export function bridgeLog(options: BridgeLogOptions = {}): {
  readonly observers: readonly BridgeObserver[]
  readonly onError: (error: Error) => void
  readonly onNotice: (notice: string) => void
} {
  const { level = 'info', destination } = options
  const settings = { level, base: { service: 'reply-bridge' }, redact: { paths: secretPaths, censor: '***' } }
  const log = destination ? pino(settings, destination) : pino(settings)
  return {
    observers: [
      (event) => {
        const { at: _, ...fields } = event
        log[logLevelOf(event)](fields, eventMessage(event))
      },
    ],
    onError: (error) =>
      log.error({ error: { name: error.name, ...errorTypeField(error), message: error.message } }, 'failed'),
    onNotice: (notice) => log.info(notice),
  }
}

/** No event has these fields. If one is ever added by mistake, its value is redacted. */
const names = ['token', 'password', 'secret', 'authorization', 'text']
const secretPaths = names.flatMap((name) => [name, `*.${name}`])

/** Returns `warn` for what needs a look, `debug` for what is usual and frequent, otherwise `info`. */
function logLevelOf(event: BridgeEvent): 'debug' | 'info' | 'warn' {
  if (event.type === 'channel') return event.status === 'disconnected' ? 'warn' : 'info'
  if (event.type === 'member') return event.status === 'expired' ? 'warn' : 'info'
  if (event.type === 'beat') return event.isLate ? 'warn' : 'debug'
  if (event.type === 'shards') return event.lost > 0 ? 'warn' : 'info'
  if (event.type === 'fenced') return 'warn'
  if (event.type === 'inbound' && (event.verdict === 'ignored' || event.verdict === 'postponed')) return 'debug'
  if (event.type === 'failures')
    return event.deliveries + event.prompts + event.rows + event.poison > 0 ? 'warn' : 'debug'
  if (event.type === 'delivery' && event.undelivered > 0) return 'warn'
  if (event.type === 'transcription') return event.result === 'understood' ? 'info' : 'warn'
  if (event.type === 'notice') return event.result === 'sent' ? 'info' : 'warn'
  return event.type === 'run' && event.phase === 'ended' && event.outcome !== 'completed' ? 'warn' : 'info'
}

/** Returns the text of an event's log line, for example `run ended`. */
function eventMessage(event: BridgeEvent): string {
  switch (event.type) {
    case 'channel':
      return `channel ${event.status}`
    case 'inbound':
      return `inbound ${event.verdict}`
    case 'run':
      return `run ${event.phase}`
    case 'ask':
      return `ask ${event.phase}`
    case 'unshown':
      return 'ask has no chat'
    case 'delivery':
      return 'delivered'
    case 'notice':
      return `notice ${event.result}`
    case 'transcription':
      return `voice note ${event.result}`
    case 'member':
      return `member ${event.status}`
    case 'beat':
      return event.isLate ? 'beat late' : 'beat'
    case 'shards':
      return 'shards changed'
    case 'fenced':
      return 'write fenced'
    case 'failures':
      return 'failures listed'
  }
  return event satisfies never
}

/** Returns the `type` of an error as a field. Empty for an error without a type. */
function errorTypeField(error: Error): { readonly type?: string } {
  return 'type' in error && typeof error.type === 'string' ? { type: error.type } : {}
}
