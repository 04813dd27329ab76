import { type Ask, type Reply, textOf } from '@reply/core'
import type { UIMessage } from 'ai'
import { describe, expect, test } from 'vitest'
import { type RecordedStream, recordedStreams, statesOf } from '../../reply/test/web/recorded-states.ts'
import { sendWhenAnswered, uiTextOf } from '../src/client.ts'
import { createUIProjection, readAnswers, type UIChunk } from '../src/index.ts'
import { messageOf, shownIn } from './recorded.ts'

/** All chunks that one reader gets. */
function chunksOf(states: readonly Reply[]): readonly UIChunk[] {
  const projection = createUIProjection({ stopAtAsks: false })
  const chunks = states.flatMap((reply) => projection.next(reply))
  expect(projection.ended).toBe(true)
  return chunks
}

/** Tests what the AI SDK 6 shows of recorded replies, of each stream or of one in so many. */
export function testRecordings(oneIn: number): void {
  const streams = recordedStreams()
    .filter((_, index) => index % oneIn === 0)
    .map((stream) => [`${stream.version}/${stream.scenario}${stream.global ? ' (global)' : ''}`, stream] as const)
  describe('the AI SDK 6 shows the text of a recorded reply', () => {
    test.each(streams)('%s: live, late and from the middle', async (_, stream) => await compareReaders(stream))
  })
  describe('a page that answers where the message stops, and goes on with what it has,', () => {
    test.each(streams)('shows the same in the end: %s', async (_, stream) => await compareAnswering(stream))
  })
}

/** Compares what a reader has who comes early, late or in the middle. */
async function compareReaders(stream: RecordedStream): Promise<void> {
  for (const states of await statesOf(stream)) {
    // A message ends when its reply settles, even if the reply is amended later.
    const end = states.findIndex(({ phase }) => phase === 'settled')
    const settled = states[end]
    if (!settled) throw new Error('The reply never settled.')
    const live = states.slice(0, end + 1)
    const late = await messageOf(chunksOf([settled]))
    expect(uiTextOf(late)).toBe(textOf(settled))
    for (const seen of [live, live.slice(Math.floor(live.length / 2))]) {
      const message = await messageOf(chunksOf(seen))
      expect(uiTextOf(message)).toBe(textOf(settled))
      expect(shownIn(message)).toEqual(shownIn(late))
    }
  }
}

/** An answer in a body, for an ask that has no tool part. */
interface BodyAnswer {
  readonly id: string
  readonly answer: unknown
}

/** What a person answers at each ask of the reply, as in the recording. Undefined for one without an answer. */
function recordedAnswer(ask: Ask): unknown {
  if (ask.status === 'rejected') return 'reject'
  if (ask.status !== 'answered') return undefined
  if (ask.type === 'permission') return ask.reply
  // The server takes a question without an answer, and people can't give it.
  return ask.answers?.some((given) => given.length === 0) ? undefined : ask.answers
}

/** The message after a person has answered all that it asks, as the AI SDK changes it, and the answers beside it. */
function withAnswers(message: UIMessage, reply: Reply, end: Reply): { message: UIMessage; answers: BodyAnswer[] } {
  const answers: BodyAnswer[] = []
  const parts = message.parts.map((part) => structuredClone(part))
  for (const ask of reply.asks.filter(({ status }) => status === 'pending')) {
    const given = recordedAnswer(end.asks.find(({ requestID }) => requestID === ask.requestID) ?? ask)
    if (given === undefined) continue
    const shown = parts.find((part) => part.type === 'data-ask' && part.id === ask.requestID)
    const data = shown && 'data' in shown ? (shown.data as { id: string; toolCallId?: string }) : undefined
    if (!data) throw new Error(`${ask.requestID} is not shown.`)
    const tool = parts.find((part) => part.type === 'dynamic-tool' && part.toolCallId === data.toolCallId)
    const isApproval = tool?.type === 'dynamic-tool' && tool.state === 'approval-requested'
    if (isApproval) {
      const approval = {
        ...tool.approval,
        approved: given !== 'reject',
        ...(given === 'always' && { reason: 'always' }),
      }
      Object.assign(tool, { state: 'approval-responded', approval })
    } else if (tool && ask.type === 'question')
      Object.assign(tool, given === 'reject' ? { state: 'output-error' } : { state: 'output-available', output: given })
    else answers.push({ id: data.id, answer: given })
  }
  return { message: { ...message, parts }, answers }
}

/** Compares what a page has that answers as the recording does with what a late reader has. */
async function compareAnswering(stream: RecordedStream): Promise<void> {
  for (const states of await statesOf(stream)) {
    const end = states.findIndex(({ phase }) => phase === 'settled')
    const settled = states[end]
    if (!settled) throw new Error('The reply never settled.')
    let message: UIMessage | undefined
    for (let at = 0; at <= end; ) {
      // As it comes in the body of a POST.
      const have = message && JSON.parse(JSON.stringify(message))
      const projection = createUIProjection({ have })
      const chunks: UIChunk[] = []
      let reply = settled
      for (; at <= end && !projection.ended; at += 1) {
        reply = states[at] ?? settled
        chunks.push(...projection.next(reply))
      }
      message = await messageOf(chunks, message)
      if (reply.phase === 'settled') break
      const answered = withAnswers(message, reply, settled)
      const given = readAnswers({ messages: [answered.message], answers: answered.answers }, reply)
      for (const { ask, answer } of given)
        expect(answer).toEqual(recordedAnswer(settled.asks.find((each) => each.requestID === ask.requestID) ?? ask))
      if (given.length > answered.answers.length) expect(sendWhenAnswered({ messages: [answered.message] })).toBe(true)
      message = answered.message
      const isGiven = (ask: Ask): boolean => given.some((one) => one.ask.requestID === ask.requestID)
      while (states[at]?.asks.some((ask) => ask.status === 'pending' && isGiven(ask))) at += 1
    }
    if (!message) throw new Error('The page has no message.')
    expect(uiTextOf(message)).toBe(textOf(settled))
    expect(shownIn(message)).toEqual(shownIn(await messageOf(chunksOf([settled]))))
  }
}
