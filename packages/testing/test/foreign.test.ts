import { Api, InputFile } from 'grammy'
import { afterEach, describe, expect, test } from 'vitest'
import { startDiscord } from '../src/discord/index.ts'
import { createHandClock, until } from '../src/index.ts'
import { startSlack } from '../src/slack/index.ts'
import { startTelegram } from '../src/telegram/index.ts'
import { startWhatsApp } from '../src/whatsapp/index.ts'
import { listen } from './listen.ts'

/** What a host sends beside the package's own messages. */
const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const clock = createHandClock()

async function post(url: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<Response> {
  const sent = { 'content-type': 'application/json', ...headers }
  return await fetch(url, { method: 'POST', headers: sent, body: JSON.stringify(body) })
}

describe('Telegram', () => {
  const start = async () => {
    const telegram = await startTelegram({ token: '42:abc', clock })
    stops.push(() => telegram.close())
    return { telegram, api: new Api('42:abc', { apiRoot: telegram.url }) }
  }

  // https://core.telegram.org/bots/api#sendphoto: an upload, a `file_id`, or an address; captions of 1,024 characters.
  test('takes photos', async () => {
    const { telegram, api } = await start()
    const caption = 'A *plot*'
    const { photo } = await api.sendPhoto(7, new InputFile(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'plot.png'), {
      caption,
    })
    await api.sendPhoto(7, photo?.[0]?.file_id ?? '')
    await api.sendPhoto(7, 'https://example.com/plot.png')
    expect(telegram.screen(7)).toMatchObject([
      { text: caption, photo: { name: 'plot.png' }, document: undefined },
      { text: '', photo: { name: 'plot.png' } },
      { photo: { name: 'https://example.com/plot.png' } },
    ])
    await expect(api.sendPhoto(7, new InputFile(Buffer.from('<svg/>'), 'plot.svg'))).rejects.toThrow(
      /IMAGE_PROCESS_FAILED/,
    )
    await expect(api.sendPhoto(7, 'no-such-file')).rejects.toThrow(/wrong file identifier/)
    await expect(api.sendPhoto(7, 'https://a.b/c', { caption: 'x'.repeat(1025) })).rejects.toThrow(/too long/)
    await clock.advance(5000)
    await expect(api.editMessageText(7, 1, 'Text')).rejects.toThrow(/no text in the message to edit/)
  })

  // https://core.telegram.org/bots/api#inlinekeyboardbutton: exactly one of the optional fields.
  test('takes buttons with links and other actions', async () => {
    const { telegram, api } = await start()
    const copy_text = { text: 'npm i' }
    const inline_keyboard = [
      [
        { text: 'Open', url: 'example.com/a' },
        { text: 'Copy', copy_text },
      ],
    ]
    await api.sendMessage(7, 'See', { reply_markup: { inline_keyboard } })
    expect(telegram.screen(7)[0]?.buttons).toEqual([
      [
        { text: 'Open', url: 'http://example.com/a' },
        { text: 'Copy', action: 'copy_text' },
      ],
    ])
    expect(() => telegram.press(7, 1, 'Open')).toThrow(/no button "Open" that reaches the bot/)
    const wrong = { reply_markup: { inline_keyboard: [[{ text: 'Open', url: 'not an address' }]] } }
    await expect(api.sendMessage(7, 'See', wrong)).rejects.toThrow(/Wrong HTTP URL/)
  })
})

// https://docs.slack.dev/reference/block-kit/blocks: header, context, section, image and divider blocks with their limits.
describe('Slack', () => {
  const start = async () => {
    const slack = await startSlack({ clock })
    stops.push(() => slack.close())
    const send = async (blocks: readonly object[]) => {
      const headers = { authorization: `Bearer ${slack.token}` }
      const answer = await post(`${slack.url}chat.postMessage`, { channel: 'D1', text: 'x', blocks }, headers)
      return (await answer.json()) as { readonly ok: boolean; readonly error?: string }
    }
    return { slack, send }
  }
  const plain = (text: string) => ({ type: 'plain_text', text })

  test('takes headers, contexts, fields, images and dividers', async () => {
    const { slack, send } = await start()
    const image = { type: 'image', image_url: 'https://example.com/a.png', alt_text: 'A plot' }
    const context = { type: 'context', elements: [image, { type: 'mrkdwn', text: '*By* Ada' }, plain('today')] }
    const section = { type: 'section', fields: [plain('one'), plain('two')] }
    const blocks = [{ type: 'header', text: plain('Report') }, context, section, { type: 'divider' }, image]
    expect(await send(blocks)).toMatchObject({ ok: true })
    expect(slack.screen('D1')).toMatchObject([{ text: 'Report\n*By* Ada today\none\ntwo\nA plot' }])
  })

  test.each<[string, object]>([
    ['a header of more than 150 characters', { type: 'header', text: plain('x'.repeat(151)) }],
    ['a header with markup', { type: 'header', text: { type: 'mrkdwn', text: '*x*' } }],
    ['a context of more than 10 elements', { type: 'context', elements: Array(11).fill(plain('x')) }],
    ['an image without a text for it', { type: 'image', image_url: 'https://example.com/a.png' }],
    ['a section without text', { type: 'section' }],
  ])('refuses %s', async (_, block) => {
    const { send } = await start()
    expect(await send([block])).toMatchObject({ ok: false, error: 'invalid_blocks' })
  })
})

// https://discord.com/developers/docs/resources/message#embed-object-embed-limits, and
// https://discord.com/developers/docs/components/reference#button: style 5 has a `url` and no `custom_id`.
describe('Discord', () => {
  const start = async () => {
    const id = '100000000000000001'
    const discord = await startDiscord({ token: 'a.b.c', clock, channels: [{ id }] })
    stops.push(() => discord.close())
    const send = async (body: object) =>
      await post(`${discord.url}/v10/channels/${id}/messages`, body, { authorization: 'Bot a.b.c' })
    return { discord, send, id }
  }
  const row = (button: object) => [{ type: 1, components: [{ type: 2, style: 5, label: 'Open', ...button }] }]

  test('takes embeds without content, and links', async () => {
    const { discord, send, id } = await start()
    const embed = { title: 'Report', description: 'All *well*', fields: [{ name: 'Tests', value: '12' }], color: 1 }
    const answer = await send({ embeds: [embed], components: row({ url: 'https://example.com' }) })
    expect(await answer.json()).toMatchObject({ embeds: [embed] })
    expect(discord.screen(id)).toMatchObject([
      {
        text: '',
        embeds: [{ title: 'Report', description: 'All *well*', fields: [{ name: 'Tests', value: '12' }] }],
        rows: [[{ type: 'link', label: 'Open', customId: '', url: 'https://example.com' }]],
      },
    ])
  })

  test.each<[string, object]>([
    ['11 embeds', { embeds: Array(11).fill({ title: 'x' }) }],
    ['an empty embed', { embeds: [{}] }],
    ['a title of 257 characters', { embeds: [{ title: 'x'.repeat(257) }] }],
    ['6,001 characters in all', { embeds: [{ description: 'x'.repeat(4000) }, { description: 'x'.repeat(2001) }] }],
    ['a link with a custom id', { content: 'x', components: row({ url: 'https://example.com', custom_id: 'x' }) }],
    ['a link without an address', { content: 'x', components: row({}) }],
  ])('refuses %s', async (_, body) => {
    const { send } = await start()
    expect((await send(body)).status).toBe(400)
  })
})

describe('WhatsApp', () => {
  const person = '4917000000002'
  const start = async () => {
    const whatsapp = await startWhatsApp({ token: 'abc', clock: createHandClock() })
    stops.push(() => whatsapp.close())
    const send = async (body: object) => {
      const message = { messaging_product: 'whatsapp', to: person, ...body }
      const headers = { authorization: 'Bearer abc' }
      return await post(`${whatsapp.url}/${whatsapp.phoneNumberId}/messages`, message, headers)
    }
    return { whatsapp, send }
  }

  // https://developers.facebook.com/docs/whatsapp/cloud-api/messages/image-messages
  test('takes pictures by their address', async () => {
    const { whatsapp, send } = await start()
    expect(
      (await send({ type: 'image', image: { link: 'https://example.com/a.png', caption: 'A plot' } })).status,
    ).toBe(200)
    expect(whatsapp.screen(person)).toMatchObject([{ kind: 'image', text: 'A plot' }])
    expect((await send({ type: 'image', image: { caption: 'None' } })).status).toBe(400)
    expect((await send({ type: 'image', image: { id: 'unknown' } })).status).toBe(400)
  })

  // https://developers.facebook.com/docs/whatsapp/cloud-api/guides/send-message-templates, and its webhook's `button`:
  // https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/payload-examples
  test('takes templates, and sends their quick replies to the webhook as buttons', async () => {
    const { whatsapp, send } = await start()
    const bodies: { readonly type?: string }[] = []
    const hook = await listen((request, response) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        const challenge = new URL(request.url ?? '/', 'http://loopback').searchParams.get('hub.challenge')
        bodies.push(...(JSON.parse(text || '{}').entry?.[0]?.changes?.[0]?.value?.messages ?? []))
        response.end(challenge ?? '')
      })
    })
    stops.push(hook.stop)
    await whatsapp.setWebhook(`${hook.url}/`, 'a-verify-token')
    const components = [
      { type: 'body', parameters: [{ type: 'text', text: 'Ada' }] },
      { type: 'button', sub_type: 'quick_reply', index: '0', parameters: [{ type: 'payload', payload: 'stop' }] },
    ]
    const answer = await send({ type: 'template', template: { name: 'hello', language: { code: 'en' }, components } })
    const { messages } = (await answer.json()) as { readonly messages: readonly [{ readonly id: string }] }
    expect(whatsapp.screen(person)).toMatchObject([
      { kind: 'template', text: 'hello\nAda', buttons: [{ data: 'stop' }] },
    ])
    whatsapp.press(person, messages[0].id, 'stop')
    await until(() => bodies.length === 1)
    expect(bodies).toMatchObject([{ type: 'button', button: { payload: 'stop' }, context: { id: messages[0].id } }])
    expect((await send({ type: 'template', template: { name: 'hello' } })).status).toBe(400)
  })

  // The same guide: a template may begin a conversation after the 24 hours.
  test('takes templates when 24 hours are over', async () => {
    const clock = createHandClock()
    const whatsapp = await startWhatsApp({ token: 'abc', clock, closedWindow: 'refuse' })
    stops.push(() => whatsapp.close())
    await clock.advance(86_400_001)
    const url = `${whatsapp.url}/${whatsapp.phoneNumberId}/messages`
    const send = async (body: object) =>
      (await post(url, { messaging_product: 'whatsapp', to: person, ...body }, { authorization: 'Bearer abc' })).status
    expect(await send({ type: 'text', text: { body: 'Hi' } })).toBe(400)
    expect(await send({ type: 'template', template: { name: 'hello', language: { code: 'en' } } })).toBe(200)
  })
})
