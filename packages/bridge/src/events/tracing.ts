import { context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { BridgeObserver } from './emit.ts'
import type { AskEvent, DeliveryEvent, RunEvent } from './event.ts'

/** Options of `bridgeTracing`. */
export interface TracingOptions {
  /** Creates the spans. Default: the global tracer named `@reply/bridge`. */
  readonly tracer?: Tracer | undefined
}

/** How many runs, and how many asks, are traced at once. Beyond that, the oldest span is ended. */
const mostOpen = 10_000

/**
 * Traces a bridge. Add the result to the bridge's `observers`. Each run is a span `reply.run` from the message to the end
 * of the delivery, with the events `posted`, `first byte`, `first shown` and `ended`. Its attributes count the platform's
 * calls and rate limits. Each ask is a span `reply.ask` below it.
 */
export function bridgeTracing({ tracer = trace.getTracer('@reply/bridge') }: TracingOptions = {}): BridgeObserver {
  const runs = createOpenSpans()
  const asks = createOpenSpans()
  return (event) => {
    switch (event.type) {
      case 'channel':
      case 'inbound':
      case 'unshown':
      case 'failures':
      case 'notice':
      case 'transcription':
      case 'member':
      case 'beat':
      case 'shards':
      case 'fenced':
        return
      case 'run':
        return traceRun(event)
      case 'ask':
        return traceAsk(event)
      case 'delivery':
        return traceDelivery(event)
    }
    event satisfies never
  }

  /**
   * Opens the run's span at its first event, with the time of the message as its start. At the end of the run, adds its times
   * and outcome, and marks every outcome but `completed` as an error. Ends the span if the run ended without a reply, because
   * no delivery follows.
   */
  function traceRun(event: RunEvent): void {
    const { phase, at, times, outcome, reason, sessionID } = event
    const key = runKey(event)
    const startTime = at - (times.endedMs ?? times.postedMs ?? 0)
    const attributes = { ...placeAttributes(event), 'reply.server': event.server, 'reply.actor': event.actorID }
    const span =
      runs.get(key) ?? runs.add(key, tracer.startSpan('reply.run', { startTime: new Date(startTime), attributes }))
    if (sessionID !== undefined) span.setAttribute('reply.session', sessionID)
    if (phase !== 'ended') return
    if (times.postedMs !== undefined) span.addEvent('posted', new Date(startTime + times.postedMs))
    if (times.firstByteMs !== undefined) span.addEvent('first byte', new Date(startTime + times.firstByteMs))
    span.addEvent('ended', new Date(at))
    if (outcome !== undefined) span.setAttribute('reply.outcome', outcome)
    if (outcome !== 'completed')
      span.setStatus({ code: SpanStatusCode.ERROR, ...(reason !== undefined && { message: reason }) })
    // Without a reply, no delivery event follows.
    if (outcome === undefined) endRun(key, at)
  }

  /** Adds the figures of the delivery to the run's span, and ends it. Does nothing without an open span. */
  function traceDelivery(event: DeliveryEvent): void {
    const key = runKey(event)
    const { at, shown, undelivered, doubtful, calls, rateLimited, firstShownMs, deliveredMs } = event
    const span = runs.get(key)
    if (firstShownMs !== undefined) span?.addEvent('first shown', new Date(at - deliveredMs + firstShownMs))
    span?.setAttributes({
      'reply.shown': shown,
      'reply.undelivered': undelivered,
      'reply.doubtful': doubtful,
      'reply.calls': calls,
      'reply.rate_limited': rateLimited,
    })
    endRun(key, at)
  }

  /** Ends the span of a run, and those of its asks that are open: they moved to a chat of another process, which saw their end. */
  function endRun(key: string, at: number): void {
    runs.end(key, at)
    for (const ask of asks.keys()) if (ask.startsWith(`${key}/`)) asks.end(ask, at)
  }

  /**
   * Opens a span when the ask is asked: below the run's, or without one below the active span. At any later phase, adds the
   * result to its spans in all runs and ends them: a chat that an ask moved away from has no event of its end.
   */
  function traceAsk(event: AskEvent): void {
    const { phase, at, sessionID, requestID, askType, decision, actorID, actorChannel } = event
    const run = runs.get(runKey(event))
    const ask = `/${sessionID}/${requestID}`
    if (phase === 'asked') {
      const parent = run ? trace.setSpan(context.active(), run) : context.active()
      const attributes = { ...placeAttributes(event), 'reply.request': requestID, 'reply.ask': askType }
      asks.add(`${runKey(event)}${ask}`, tracer.startSpan('reply.ask', { startTime: new Date(at), attributes }, parent))
      return
    }
    for (const key of asks.keys()) {
      if (!key.endsWith(ask)) continue
      const span = asks.get(key)
      span?.setAttribute('reply.result', phase)
      if (decision !== undefined) span?.setAttribute('reply.decision', decision)
      if (actorID !== undefined) span?.setAttribute('reply.answered_by', `${actorChannel}:${actorID}`)
      asks.end(key, at)
    }
  }
}

/** Returns a key for the run of an event. */
function runKey({ channel, chat, thread = '', executionID }: AskEvent | DeliveryEvent | RunEvent): string {
  return [channel, chat, thread, executionID].join('/')
}

/** Returns the attributes with the place and the run of an event. */
function placeAttributes(event: AskEvent | DeliveryEvent | RunEvent): Record<string, string> {
  const { channel, chat, thread, executionID } = event
  const ids = { 'reply.channel': channel, 'reply.chat': chat, 'reply.execution': executionID }
  return thread === undefined ? ids : { ...ids, 'reply.thread': thread }
}

/** Creates a bounded map of spans that have not ended, by key. */
function createOpenSpans(): {
  /** Returns the span of a key. Undefined if it has none, or if it ended. */
  get(key: string): Span | undefined
  /** Returns the keys of all spans that have not ended. */
  keys(): readonly string[]
  /** Adds a span, and returns it. Ends a span that already has the key, and the oldest beyond `mostOpen`. */
  add(key: string, span: Span): Span
  /** Ends the span of a key at a time in ms since the epoch, and forgets it. Does nothing if there is none. */
  end(key: string, at: number): void
} {
  const spans = new Map<string, Span>()
  return { get: (key) => spans.get(key), keys: () => [...spans.keys()], add, end }

  /** Adds a span, and returns it. Ends and forgets a span that already has the key, and the oldest beyond `mostOpen`. */
  function add(key: string, span: Span): Span {
    spans.get(key)?.end()
    spans.set(key, span)
    const [oldest] = spans
    if (spans.size > mostOpen && oldest) {
      oldest[1].end()
      spans.delete(oldest[0])
    }
    return span
  }

  /** Ends the span of a key, if there is one, and forgets it. */
  function end(key: string, at: number): void {
    // OpenTelemetry takes a number below the process's start time for an offset from it, so this passes a Date.
    spans.get(key)?.end(new Date(at))
    spans.delete(key)
  }
}
