import { imageSize } from '@reply/sink/channel'
import { type ChannelContractOptions, portContract, type Stage, type StageFault } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { type SlackFault, startSlack } from '@reply/testing/slack'
import { describe, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { createNews } from '../../sink/test/news.ts'
import type { SlackApi } from '../src/index.ts'
import { createSlackPort, renderSlack } from '../src/internal.ts'
import { clientOf, recipient, token } from './app.ts'

const faults: Partial<Readonly<Record<StageFault, SlackFault>>> = {
  'rate-limited': { type: 'rate-limited', retryAfterS: 3 },
  refused: { type: 'error', error: 'restricted_action' },
  unreachable: { type: 'error', error: 'service_unavailable' },
  unanswered: { type: 'accept-then-drop' },
  unparsable: { type: 'error', error: 'invalid_blocks' },
  fixed: { type: 'error', error: 'cant_update_message' },
}

/** A place in the fake Slack, reached through the real client. */
async function stageOf(channelId: string, isThread: boolean): Promise<Stage> {
  const clock = createHandClock()
  const slack = await startSlack({ token, clock })
  const client = clientOf(slack)
  const inFlight = createInFlight()
  let isBare = true
  const api: SlackApi = {
    apiCall: async (method, options) => {
      return await inFlight.during(async () => {
        // Most clauses post faster than a channel allows, because they use no pacer. Here the waiting time passes by
        // itself.
        if (inFlight.count === 1 && isBare) await clock.advance(1300)
        return await client.apiCall(method, options)
      })
    },
  }
  async function rest(): Promise<void> {
    isBare = false
    await inFlight.rest()
  }
  const root = isThread ? slack.say(channelId, 'Why?') : undefined
  const ours = () => slack.screen(channelId).filter(({ from }) => from === 'bot')
  const named = createNews(() => slack.mentions)
  return {
    port: createSlackPort({ api, clock, channelId, threadTs: root, recipient }),
    render: renderSlack,
    chat: { id: channelId, ...(root !== undefined && { thread: root }) },
    clock,
    pass: async (ms) => await clock.advance(ms, rest),
    screen: () =>
      ours().map(({ ts, text, mode, controls, threadTs, file, files }) => ({
        id: ts,
        text: mode === 'markdown' ? renderSlack(text).plain : text,
        isSilent: false,
        buttons: controls.map((row) => row.map(({ label, value }) => ({ label, data: value }))),
        replyTo: threadTs,
        fileName: file?.name,
        fileNames: files.map(({ name }) => name),
        // The apps show a picture by its bytes.
        isPicture: file !== undefined && imageSize(file.bytes) !== undefined,
        fileText: file && new TextDecoder().decode(file.bytes),
      })),
    faults: ['rate-limited', 'refused', 'unreachable', 'unanswered', 'unparsable', 'fixed'],
    limitMs: 3000,
    failNext: (fault) => {
      const planned = faults[fault]
      if (planned) slack.inject({ ...planned, method: /^(?!.*setStatus$)/ })
    },
    ...(root === undefined && { writeText: (text: string) => ({ id: slack.say(channelId, text) }) }),
    deleteMessage: (ts) => slack.remove(channelId, ts),
    notifications: () => slack.notifications(channelId),
    mentions: { actor: { id: 'U5', name: 'Ann' }, in: () => named().map((mark) => mark.replace(/\W/g, '')) },
    secrets: [token],
    close: () => slack.close(),
  }
}

const everywhere: ChannelContractOptions['skip'] = {
  'reports later whether a post was delivered': 'Slack says everything in its responses',
  'posts once per key': 'Slack takes no key with a message',
  'shows an unconfirmed post once when it is retried with its key': 'Slack takes no key with a message',
  'writes a preview that is not a message': 'Slack has no previews: its streams are messages',
  'removes its status at the end': 'Slack has no silent messages, so there is no separate status',
  'notifies only for loud posts': 'Slack has no silent messages',
}
const thread: ChannelContractOptions['skip'] = {
  ...everywhere,
  'replies to a message': 'in a thread, every message replies to the first',
}
const direct: ChannelContractOptions['skip'] = {
  ...everywhere,
  'starts and stops typing': 'activity is shown only in threads',
  'appends to a stream, which can be edited once closed': 'Slack streams only in threads',
}

describe.each([
  ['a thread in a channel', 'C1', true, thread],
  ['a direct message without a thread', 'D1', false, direct],
] as const)('%s', (name, channelId, isThread, skip) => {
  const clauses = portContract({ name, setup: () => stageOf(channelId, isThread), skip })
  test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
})
