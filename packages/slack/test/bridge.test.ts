import { systemClock } from '@reply/core'
import { type Inbound, memoryStore } from '@reply/sink'
import type { BridgeConnection } from '@reply/sink/channel'
import { type BridgeStage, bridgeChannelContract, type SharedAccount } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { type FakeSlack, startSlack } from '@reply/testing/slack'
import { afterEach, expect, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { replyWith, settledWith, text } from '../../sink/test/make.ts'
import { bridgeChannel } from '../src/bridge.ts'
import { slackConnection } from '../src/connection.ts'
import type { SlackApi } from '../src/index.ts'
import { renderSlack } from '../src/internal.ts'
import { clientOf, signingSecret, token, until } from './app.ts'

/** A channel of the fake Slack, reached through the real clients. */
async function setup(): Promise<BridgeStage> {
  const appToken = 'xapp-very-secret'
  const slack = await startSlack({ token, appToken })
  const root = slack.say('C1', 'Why?')
  const ours = () => slack.screen('C1').filter(({ from }) => from === 'bot')
  return {
    channel: bridgeChannel,
    config: { type: 'slack', token: { env: 'TOKEN' }, appToken: { env: 'APP' }, apiUrl: slack.url },
    secret: (name) => (name === 'APP' ? appToken : token),
    chat: { id: 'C1', kind: 'shared', thread: root },
    account: '@fake_bot',
    writeText: async ({ text, isMention, file }) => {
      await until(() => slack.sockets > 0)
      slack.say('C1', text, { threadTs: root, mention: isMention === true, ...(file && { file }) })
    },
    press: async (label) => {
      await until(() => slack.sockets > 0)
      await slack.press('C1', ours().at(-1)?.ts ?? '', label)
    },
    screen: () =>
      ours().map(({ ts, text, mode, controls }) => ({
        id: ts,
        text: mode === 'markdown' ? renderSlack(text).plain : text,
        buttons: controls.map((row) => row.map(({ label, value }) => ({ label, data: value }))),
      })),
    isTyping: () => slack.status('C1', root) !== '',
    hasReplies: false,
    connections: () => slack.sockets,
    shareAccount,
    close: () => slack.close(),
  }
}

/** An app of the fake Slack that several of the real clients use. */
async function shareAccount(): Promise<SharedAccount> {
  const clock = createHandClock()
  const slack = await startSlack({ token, clock })
  const inFlight = createInFlight()
  return {
    clock,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    connect: (host) => {
      const client = clientOf(slack)
      const apiCall: SlackApi['apiCall'] = async (method, options) =>
        await inFlight.during(async () => await client.apiCall(method, options))
      return slackConnection({ api: { apiCall }, events: 'http', signingSecret }, host)
    },
    chats: Array.from({ length: 60 }, (_, index) => ({ id: `C${100 + index}`, kind: 'shared' })),
    budget: 'edit',
    arrivals: () => slack.calls.flatMap(({ method, at }) => (method === 'chat.update' ? [at] : [])),
    refused: () => slack.calls.filter(({ status, fault }) => status === 429 || fault === 'rate-limited').length,
    refuseNext: () => slack.inject({ type: 'rate-limited', retryAfterS: 30, method: 'chat.update' }),
    close: () => slack.close(),
  }
}

const skip = {
  'reports that a text replies to a message of the bot': 'Slack has threads in place of replies',
  'fills the menu of commands': "Slack's commands are set on the app's page",
  'receives messages that were written while it was stopped': 'Slack gives up an event after some tries',
}

const clauses = bridgeChannelContract({ name: 'Slack', setup, skip })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

interface Opened {
  readonly slack: FakeSlack
  readonly connection: BridgeConnection
  readonly received: Inbound[]
}

/** Starts another process of the same app, and waits until Slack has so many sockets, by default one more. */
async function joined(slack: FakeSlack, sockets = slack.sockets + 1) {
  const received: Inbound[] = []
  const errors: Error[] = []
  const connection = await bridgeChannel.create(
    { type: 'slack', token: { env: 'TOKEN' }, appToken: { env: 'APP' }, apiUrl: slack.url },
    {
      name: 'work',
      store: memoryStore(),
      clock: systemClock,
      onError: (error) => errors.push(error),
      secret: (source) => ('env' in source && source.env === 'APP' ? slack.appToken : slack.token),
      onInbound: (inbound) => received.push(inbound),
    },
  )
  stops.unshift(connection.stop)
  await connection.start()
  await until(() => slack.sockets === sockets)
  return { connection, received, errors }
}

async function open(
  onInbound: (inbound: Inbound) => unknown = () => {},
  onError: (error: Error) => void = () => {},
): Promise<Opened> {
  const appToken = 'xapp-very-secret'
  const slack = await startSlack({ token, appToken })
  const received: Inbound[] = []
  const connection = await bridgeChannel.create(
    { type: 'slack', token: { env: 'TOKEN' }, appToken: { env: 'APP' }, apiUrl: slack.url },
    {
      name: 'work',
      store: memoryStore(),
      clock: systemClock,
      onError,
      secret: (source) => ('env' in source && source.env === 'APP' ? appToken : token),
      onInbound: (inbound) => {
        received.push(inbound)
        return onInbound(inbound)
      },
    },
  )
  stops.push(connection.stop, slack.close)
  await connection.start()
  await until(() => slack.sockets === 1)
  return { slack, connection, received }
}

test('Slack is told that an event arrived when the host has it', async () => {
  let done = (): void => {}
  const held = new Promise<void>((resolve) => {
    done = resolve
  })
  const { slack, connection, received } = await open(() => held)
  const [ref] = await connection.post({ chat: { id: 'C1' }, text: 'Pick.', buttons: [[{ label: 'A', data: 'b:1' }]] })
  let isTold = false
  const acknowledged = slack.press('C1', ref?.id ?? '', 'A').then((inTime) => {
    isTold = inTime
  })
  await until(() => received.length === 1)
  expect(isTold).toBe(false)
  done()
  await acknowledged
  expect(isTold).toBe(true)
})

test('a stop while an event is handled reports nothing, and Slack sends the event to another process', async () => {
  let done = (): void => {}
  const held = new Promise<void>((resolve) => {
    done = resolve
  })
  const errors: Error[] = []
  const { slack, connection, received } = await open(
    () => held,
    (error) => errors.push(error),
  )
  const other = await joined(slack)
  const said = () => [...received, ...other.received].length
  slack.say('C1', 'One')
  slack.say('C1', 'Two')
  await until(() => said() === 2)
  expect([received.length, other.received.length]).toEqual([1, 1])
  const stopped = connection.stop()
  done()
  await stopped
  await until(() => said() === 3)
  expect(new Set(other.received.flatMap((one) => (one.type === 'text' ? [one.text] : [])))).toEqual(
    new Set(['One', 'Two']),
  )
  expect(errors).toEqual([])
})

test('an eleventh socket is refused and reported, and its process posts', async () => {
  const { slack } = await open()
  for (let sockets = 2; sockets <= 10; sockets++) await joined(slack)
  const eleventh = await joined(slack, 10)
  await until(() => eleventh.errors.length > 0)
  expect(eleventh.errors).toMatchObject([{ type: 'updates' }])
  expect(slack.sockets).toBe(10)
  expect(await eleventh.connection.post({ chat: { id: 'C1' }, text: 'A note.' })).toHaveLength(1)
})

test("a check refuses a wrong app's token, which Socket Mode needs, without naming it", async () => {
  const slack = await startSlack({ token, appToken: 'xapp-very-secret' })
  stops.push(slack.close)
  const config = { type: 'slack', token: { env: 'TOKEN' }, appToken: { env: 'APP' }, apiUrl: slack.url } as const
  const check = async (appToken: string) =>
    await bridgeChannel.check(config, {
      secret: (source) => ('env' in source && source.env === 'APP' ? appToken : token),
    })
  expect(await check('xapp-very-secret')).toEqual({ account: '@fake_bot' })
  const error = await check('xapp-wrong').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ type: 'unauthorized' })
  expect(String(error)).not.toContain('xapp-wrong')
  expect(slack.sockets).toBe(0)
})

test('a file that comes with its id alone is looked up: its name, its type and its content', async () => {
  const { slack, connection, received } = await open()
  const clip = { name: 'a.mp4', mime: 'video/mp4', bytes: new Uint8Array([65]), isClip: true, isBare: true }
  slack.say('C1', 'See', { file: clip })
  await until(() => received.length === 1)
  const [file] = received.flatMap((one) => (one.type === 'text' ? (one.files ?? []) : []))
  expect(file).toMatchObject({ name: 'a.mp4', mime: 'audio/mp4', size: 1 })
  if (file) expect(await connection.download(file, { maxBytes: 10 })).toEqual(Buffer.from('A'))
})

test.each(['https://files.slack.com.example.org/a', 'https://example.org/slack.com', 'http://files.slack.com/a'])(
  'the token is not sent to %s',
  async (ref) => {
    const { connection } = await open()
    const file = { ref, name: 'a.txt', mime: 'text/plain' }
    await expect(connection.download(file, { maxBytes: 10 })).rejects.toMatchObject({
      type: 'refused',
      message: "file a.txt: it is not stored by Slack, so it can't be downloaded.",
    })
  },
)

test.each([
  ['external:F1', "another service stores it, so it can't be downloaded from Slack. Upload the file itself."],
  ['tombstone:F1', 'it was deleted from Slack.'],
  ['hidden_by_limit:F1', "Slack hides it, because it is too old for the workspace's plan."],
])('the file %s is refused with the reason, and without a call', async (ref, reason) => {
  const { slack, connection } = await open()
  const file = { ref, name: 'a.gdoc', mime: 'application/octet-stream' }
  await expect(connection.download(file, { maxBytes: 10 })).rejects.toMatchObject({
    type: 'refused',
    message: `file a.gdoc: ${reason}`,
  })
  expect(slack.count('files.info')).toBe(0)
})

test('an answer in a thread that the bot began is a reply to the bot', async () => {
  const { slack, connection, received } = await open()
  const [ref] = await connection.post({ chat: { id: 'C1' }, text: 'A note.' })
  slack.say('C1', 'Thanks', { threadTs: ref?.id ?? '' })
  await until(() => received.length === 1)
  expect(received).toMatchObject([{ text: 'Thanks', repliesToBot: true, chat: { thread: ref?.id } }])
})

test.each([
  [{}, 'Socket Mode needs an appToken'],
  [{ events: 'http' }, 'need a signingSecret'],
])('a config with %j says what it lacks', (more, words) => {
  const { error } = bridgeChannel.schema.safeParse({ type: 'slack', token: { env: 'TOKEN' }, ...more })
  expect(error?.issues[0]?.message).toContain(words)
})

test('frames that the client cannot read are reported, and the next message is heard', async () => {
  const errors: Error[] = []
  const { slack, received } = await open(
    () => {},
    (error) => errors.push(error),
  )
  const frames = ['null', '{"type":"events_api"}', '{"type":"events_api","payload":{"event":null}}']
  for (const frame of ['{', ...frames]) slack.pushFrame(frame)
  slack.say('C1', 'Still there?', { mention: true })
  await until(() => received.length === 1)
  expect(errors.map(({ message }) => message)).toEqual(
    frames.map(() => "Skipped a frame of Slack's socket that can't be read: TypeError."),
  )
})

test('a stream in a channel is shown to the author of a message that another process received', async () => {
  const { slack, connection, received } = await open()
  const owner = await joined(slack)
  await owner.connection.stop()
  await until(() => slack.sockets === 1)
  slack.say('C1', 'Why?', { mention: true })
  await until(() => received.length === 1)
  // As a bridge stores it for the owner of the chat.
  const stored: unknown = JSON.parse(JSON.stringify(received[0]))
  const { chat, actor: author, messageRef: replyTo } = stored as Extract<Inbound, { type: 'text' }>
  const sink = owner.connection.sinkFor({ chat, replyTo, author })
  const reply = settledWith([text('Because.')])
  sink.replyStarted?.({ type: 'replyStarted', reply: replyWith([text('Bec', { status: 'open' })]) })
  await until(() => slack.count('chat.startStream') === 1)
  sink.replySettled?.({ type: 'replySettled', outcome: 'completed', reply })
  expect(await sink.settled()).toMatchObject({ undelivered: [], doubtful: 0 })
  const streams = slack.calls.filter(({ method }) => method === 'chat.startStream')
  expect(streams).toMatchObject([{ payload: { recipient_user_id: author.id, recipient_team_id: slack.team } }])
  await connection.stop()
})

test('a link opens a message, with its thread, once the workspace is known, and otherwise the channel', async () => {
  const slack = await startSlack({ token })
  const ignore = (): void => {}
  const host = { name: 'sl', secret: () => token, store: memoryStore(), clock: systemClock }
  const connection = slackConnection(
    { api: clientOf(slack), events: 'http', signingSecret },
    { ...host, onInbound: ignore, onError: ignore },
  )
  const message = { id: '1358546515.000008' }
  const links = () => [
    connection.linkTo?.({ id: 'C1' }, message),
    connection.linkTo?.({ id: 'C1', thread: '1358546515.000007' }, message),
    connection.linkTo?.({ id: 'C1' }, undefined),
  ]
  const channel = 'https://slack.com/app_redirect?channel=C1'
  expect(links()).toEqual([channel, channel, channel])
  await connection.check()
  const opens = 'https://fake.slack.invalid/archives/C1/p1358546515000008'
  expect(links()).toEqual([opens, `${opens}?thread_ts=1358546515.000007&cid=C1`, channel])
  await slack.close()
})
