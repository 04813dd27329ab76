import { createHandClock } from '@reply/testing'
import { type SlackFeatures, startSlack } from '@reply/testing/slack'
import { describe, expect, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { call, replyWith, settledWith, text } from '../../sink/test/make.ts'
import { beginning, showTimeline } from '../../sink/test/timeline.ts'
import { type SlackApi, type SlackSinkOptions, slackSink } from '../src/index.ts'
import { clientOf, recipient, token } from './app.ts'

interface Place {
  readonly channelId: string
  /** Without it, the run is shown in the channel. */
  readonly thread?: Pick<SlackSinkOptions, 'recipient'>
  readonly features: SlackFeatures
}

const tool = call('bash', { status: 'running', title: 'npm test' })
const said = (words: string, status: 'open' | 'sealed') => ({ ...text(words, { status }), id: 'prt_a' })

/** A tool call of 150 s without a text, then an answer of a few seconds; and what a person saw after 100 s. */
async function run({ channelId, thread, features }: Place) {
  const clock = createHandClock(beginning)
  const slack = await startSlack({ token, clock, features })
  const client = clientOf(slack)
  const inFlight = createInFlight()
  const api: SlackApi = {
    apiCall: async (method, given) => await inFlight.during(async () => await client.apiCall(method, given)),
  }
  const root = slack.say(channelId, 'Go')
  const place = thread && { threadTs: root, ...thread }
  const sink = slackSink({ api, channelId, ...place, clock })
  const bots = () => slack.screen(channelId, thread && root).filter(({ from }) => from === 'bot')
  try {
    let early: readonly string[] = []
    clock.after(100_000, () => {
      const status = slack.status(channelId, root)
      early = [...bots().map((message) => message.text), ...(status ? [`status: ${status}`] : [])]
    })
    const states = [
      { atMs: 0, reply: replyWith([tool]) },
      { atMs: 150_000, reply: replyWith([tool, said('It is', 'open')]) },
      { atMs: 153_000, reply: replyWith([tool, said('It is done.', 'open')]) },
      { atMs: 155_000, reply: settledWith([tool, said('It is done.', 'sealed')], {}, 155_000) },
    ]
    const { delivery } = await showTimeline({ name: 'long', states }, { clock, sinks: [sink], rest: inFlight.rest })
    return { early, delivery, end: bots().map((message) => message.text), status: slack.status(channelId, root) }
  } finally {
    await slack.close()
  }
}

const all = { streams: false, statuses: false, sessions: false }

describe('a run of 150 s without a text says what it does, and its last message is the answer,', () => {
  test.each<[string, Place]>([
    ['in a thread', { channelId: 'C1', thread: { recipient }, features: {} }],
    ['in a thread, without a recipient', { channelId: 'C1', thread: {}, features: {} }],
    ['in a thread, without streams', { channelId: 'C1', thread: { recipient }, features: { streams: false } }],
    ['in a thread, without statuses', { channelId: 'C1', thread: { recipient }, features: { ...all, streams: true } }],
    ['in a thread, without either', { channelId: 'C1', thread: { recipient }, features: all }],
    ['in a channel', { channelId: 'C1', features: {} }],
    ['in a direct message', { channelId: 'D1', features: {} }],
  ])('%s', async (_, place) => {
    const { early, end, delivery, status } = await run(place)
    const hasStatus = place.thread !== undefined && place.features.statuses !== false
    expect(early).toEqual([expect.stringMatching(hasStatus ? /^status: bash: npm test/ : /bash: npm test · 1m 35s/)])
    expect(end).toEqual(['It is done.', expect.stringMatching(/^Done/)])
    expect([delivery.undelivered, status]).toEqual([[], ''])
  })
})
