import { type Reply, textOf } from '@reply/core'
import { type Shown, show, shownText } from './peer.ts'
import { type RecordedStream, recordedStreams } from './recorded.ts'

/** How often each thing happened. */
export interface Counts {
  replies: number
  events: number
  snapshots: number
  /** Runs that ended with an interrupt. */
  interrupted: number
  /** Names of the streams whose text is not what the core says, by its kind of reader. */
  readonly otherText: string[]
  /** Names of the streams in which a call has no result although the run has ended. */
  readonly openCalls: string[]
}

/**
 * Shows recorded replies in the peer's client to readers from the beginning, from the middle and at the end, to slow ones, and to
 * those who may not answer. Rejects if an event
 * doesn't fit the peer's schemas, or the order that its client allows.
 */
export async function showRecordings(wanted: (stream: RecordedStream, index: number) => boolean): Promise<Counts> {
  const counts: Counts = { replies: 0, events: 0, snapshots: 0, interrupted: 0, otherText: [], openCalls: [] }
  for (const { name, read } of recordedStreams.filter(wanted)) {
    for (const all of await read()) {
      // What the server takes back after the end of a run is the next run's news.
      const states = all.slice(0, all.findIndex(({ phase }) => phase === 'settled') + 1)
      const last = states.at(-1)
      if (!last) continue
      counts.replies += 1
      const live = await show(states)
      count(live)
      compare(`${name} live`, live, last)
      compare(`${name} late`, await show([last]), last)
      compare(`${name} skipping`, await show(states.filter((state, at) => state === last || at % 5 === 3)), last)
      compare(`${name} watching`, await show(states, [], false), last)
      compare(`${name} middle`, await show(states.slice(Math.floor(states.length / 2))), last)
    }
  }
  return counts

  function count({ events, runs }: Shown): void {
    counts.events += events.length
    counts.snapshots += events.filter(({ type }) => type === 'MESSAGES_SNAPSHOT').length
    counts.interrupted += runs - 1
  }

  function compare(what: string, { messages, events }: Shown, last: Reply): void {
    if (shownText(messages) !== textOf(last)) counts.otherText.push(what)
    const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
    const isWhole = events.some(({ type }) => type === 'RUN_FINISHED')
    const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    if (isWhole && calls.some(({ id }) => !answered.has(id))) counts.openCalls.push(what)
  }
}
