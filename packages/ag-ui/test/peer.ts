import { HttpAgent } from '@ag-ui/client'
import type { Message } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import type { Reply } from '@reply/core'
import { expect } from 'vitest'
import { type AgUiEvent, type AgUiMessage, createAgUiProjection } from '../src/index.ts'

/** What the peer's own client made of the runs of one reply. */
export interface Shown {
  /** The messages that it shows at the end. */
  readonly messages: readonly Message[]
  /** All events, in order. */
  readonly events: readonly AgUiEvent[]
  /** The number of runs. Each ask ends one. */
  readonly runs: number
}

/**
 * Passes the states of a reply through a projection for each run to the peer's client, which checks the order of events. Checks
 * each event by the peer's schemas.
 */
export async function show(
  states: readonly Reply[],
  initialMessages: Message[] = [],
  splitAtAsks = true,
): Promise<Shown> {
  let body = ''
  const events: AgUiEvent[] = []
  const agent = new HttpAgent({
    url: 'http://ours',
    threadId: 'thread',
    initialMessages,
    fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
  })
  let runs = 0
  for (let at = 0; at < states.length || runs === 0; ) {
    runs += 1
    const runId = `run-${runs}`
    const isFirst = runs === 1
    const projection = createAgUiProjection({
      threadId: 'thread',
      runId,
      splitAtAsks,
      history: toOurs(isFirst ? initialMessages : agent.messages),
      ...(!isFirst && { have: toOurs(agent.messages) }),
    })
    const ofRun: AgUiEvent[] = []
    for (; at < states.length && !projection.ended; at++) {
      const state = states[at]
      if (state) ofRun.push(...projection.next(state))
    }
    for (const event of ofRun) expectValid(event)
    body = ofRun.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const }))
    await agent.runAgent({ runId, ...(resume.length > 0 && { resume }) })
    events.push(...ofRun)
  }
  return { messages: agent.messages, events, runs }
}

/** Checks an event by the peer's schema, which drops what it doesn't know. */
function expectValid(event: AgUiEvent): void {
  const json: unknown = JSON.parse(JSON.stringify(event))
  expect(EventSchemas.parse(json)).toEqual(json)
}

/** The peer's messages as ours, through JSON as over HTTP. */
export function toOurs(messages: readonly Message[]): readonly AgUiMessage[] {
  return JSON.parse(JSON.stringify(messages))
}

/** The agent's own text, as a page shows it. */
export function shownText(messages: readonly Message[]): string {
  return messages
    .flatMap((message) =>
      message.role === 'assistant' && message.subagentRunId === undefined && (message.content ?? '').trim() !== ''
        ? [message.content]
        : [],
    )
    .join('\n\n')
}
