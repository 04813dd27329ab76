import { REST } from '@discordjs/rest'
import { discordRestOptions } from '@reply/discord'
import { createDiscordPort } from '@reply/discord/internal'
import { texts as sinkTexts } from '@reply/sink'
import type { Bubble, ChannelPort, Form } from '@reply/sink/channel'
import { createSlackPort } from '@reply/slack/internal'
import { createTelegramPort } from '@reply/telegram/internal'
import { createHandClock, type HandClock } from '@reply/testing'
import { startDiscord } from '@reply/testing/discord'
import { hostileTexts } from '@reply/testing/internal'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { createCloudClient } from '@reply/whatsapp'
import { createCloudPort } from '@reply/whatsapp/internal'
import { LogLevel, WebClient } from '@slack/web-api'
import { Api } from 'grammy'
import { expect, test } from 'vitest'
import { dialogOf } from '../../discord/src/form.ts'
import { modalOf } from '../../slack/src/form.ts'
import { inDiscord, wrongs } from './hostile/sight.ts'

const texts: readonly string[] = Object.values(hostileTexts)

function formOf(payload: string): Form {
  const options = [
    { label: payload, description: payload },
    { label: 'b', description: payload },
  ]
  const text = `${payload} ${'word '.repeat(60)}`
  const question = { header: payload, question: text, options, multiple: true, custom: true }
  return { token: 'a-token', label: sinkTexts.fillIn, questions: [question, { ...question, options: [] }] }
}

/** A message with buttons, and a form, that are called so. */
function bubbleWith(payload: string, form?: Form): Bubble {
  const label = payload.slice(0, 20).trim()
  const said = { source: 'Which?', text: 'Which?', plain: 'Which?', length: 6, isPlain: false }
  return { ...said, buttons: [[{ label, data: 'y' }], [{ label: 'No', data: 'n' }]], ...(form && { form }) }
}

async function postAll(port: ChannelPort, clock: HandClock, withForm: boolean): Promise<void> {
  for (const [at, payload] of texts.entries()) {
    const posting = { chat: { id: '7' }, signal: new AbortController().signal, silent: false, key: String(at) }
    await port.post(bubbleWith(payload, withForm ? formOf(payload) : undefined), posting)
    await clock.advance(10_000)
  }
}

/** The names of all fields in a value, and its types. */
function namesIn(value: unknown): ReadonlySet<string> {
  const names = new Set<string>()
  const look = (inner: unknown): void => {
    if (typeof inner !== 'object' || inner === null) return
    for (const [name, field] of Object.entries(inner)) {
      if (!Array.isArray(inner)) names.add(name === 'type' ? `type ${field}` : name)
      look(field)
    }
  }
  look(value)
  return names
}

test("in Telegram, a button's name makes it no other button", async () => {
  const clock = createHandClock()
  const fake = await startTelegram({ token: '42:secret', clock })
  await postAll(
    createTelegramPort({ api: new Api('42:secret', { apiRoot: fake.url }), chatId: 7, clock }),
    clock,
    false,
  )
  const markups = fake.calls.map(({ payload }) => payload.reply_markup)
  expect(markups).toHaveLength(texts.length)
  expect(namesIn(markups)).toEqual(new Set(['inline_keyboard', 'text', 'callback_data']))
  await fake.close()
})

test('in Slack, names, options and questions are plain text, in messages and dialogs', async () => {
  const clock = createHandClock()
  const fake = await startSlack({ clock })
  const options = { slackApiUrl: fake.url, logLevel: LogLevel.ERROR, retryConfig: { retries: 0 } }
  await postAll(createSlackPort({ api: new WebClient(fake.token, options), channelId: 'C1', clock }), clock, true)
  const blocks = fake.calls.flatMap(({ payload }) =>
    typeof payload.blocks === 'string' ? [JSON.parse(payload.blocks)] : [],
  )
  expect(blocks).toHaveLength(texts.length)
  const block = [
    'type markdown',
    'type actions',
    'type button',
    'type plain_text',
    'text',
    'emoji',
    'block_id',
    'elements',
  ]
  expect(namesIn(blocks)).toEqual(new Set([...block, 'action_id', 'value']))
  const place = { channel: 'C1', thread: undefined, message: '1' }
  const dialogs = texts.map((payload) => modalOf(formOf(payload), { place, texts: sinkTexts }))
  const types = [...namesIn(dialogs)].filter((name) => name.startsWith('type '))
  expect(types.toSorted()).toEqual(
    ['type checkboxes', 'type input', 'type modal', 'type plain_text', 'type plain_text_input'].toSorted(),
  )
  await fake.close()
})

test('in Discord, names and options are labels, and questions in dialogs are text', async () => {
  const clock = createHandClock()
  const fake = await startDiscord({ token: 'MTA.secret', clock })
  const rest = new REST({ api: fake.url, ...discordRestOptions, globalRequestsPerSecond: 1_000_000 }).setToken(
    'MTA.secret',
  )
  await postAll(createDiscordPort({ rest, clock, channelId: '100000000000000001' }), clock, true)
  const components = fake.calls.map(({ body }) => body.components)
  expect(namesIn(components)).toEqual(new Set(['type 1', 'type 2', 'components', 'style', 'label', 'custom_id']))
  const dialogs = texts.map((payload) => dialogOf(formOf(payload)))
  const said = dialogs.flatMap(({ components: fields }) =>
    Array.isArray(fields) ? fields.flatMap((field) => (field.type === 10 ? [String(field.content)] : [])) : [],
  )
  expect(said.length).toBeGreaterThan(texts.length)
  for (const content of said) expect(wrongs(inDiscord(content))).toEqual([])
  await fake.close()
})

test('in WhatsApp, names are the titles of reply buttons', async () => {
  const clock = createHandClock()
  const fake = await startWhatsApp({ token: 'EAA-secret', clock })
  const { url: apiUrl, phoneNumberId } = fake
  const client = createCloudClient({ token: 'EAA-secret', phoneNumberId, apiUrl })
  await postAll(createCloudPort({ client, clock, to: '491700000001' }), clock, false)
  const sent = fake.calls.map(({ fields }) => fields.interactive)
  expect(namesIn(sent)).toEqual(
    new Set(['type button', 'type reply', 'body', 'text', 'action', 'buttons', 'reply', 'id', 'title']),
  )
  await fake.close()
})
