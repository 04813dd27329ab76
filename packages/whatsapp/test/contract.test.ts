import { type ChannelContractOptions, portContract, type Stage, type StageFault } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { type CloudFault, createFakeBaileys, type SocketFault, startWhatsApp } from '@reply/testing/whatsapp'
import { describe, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { createNews } from '../../sink/test/news.ts'
import { listen } from '../../testing/test/listen.ts'
import { createCloudClient, whatsappChannel } from '../src/index.ts'
import { createBaileysPort, createCloudPort, renderWhatsApp } from '../src/internal.ts'
import { person, token } from './cloud.ts'

const faults: Partial<Readonly<Record<StageFault, CloudFault>>> = {
  'rate-limited': { type: 'rate-limited' },
  refused: { type: 'refused', status: 400, code: 131026 },
  // Meta: the service is down for a while, try again. https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes
  unreachable: { type: 'refused', status: 503, code: 131016 },
  unanswered: { type: 'accept-then-drop' },
  undelivered: { type: 'undelivered', code: 131026 },
}

/** A chat of the fake WhatsApp, reached through the real client, whose webhooks reach a channel. */
async function cloudStage(): Promise<Stage> {
  const clock = createHandClock()
  const whatsapp = await startWhatsApp({ token, clock })
  const inFlight = createInFlight()
  let isBare = true
  const counting: typeof fetch = async (input, init) => {
    return await inFlight.during(async () => {
      // Most clauses post faster than a chat allows, because they use no pacer. Here the waiting time passes by itself.
      if (inFlight.count === 1 && isBare) await clock.advance(6000)
      return await fetch(input, init)
    })
  }
  async function rest(): Promise<void> {
    isBare = false
    await inFlight.rest()
  }
  const { url: apiUrl, phoneNumberId } = whatsapp
  const client = createCloudClient({ token, phoneNumberId, apiUrl, fetch: counting })
  const secrets = { appSecret: whatsapp.appSecret, verifyToken: 'a-verify-token' }
  const channel = whatsappChannel({ client, clock, ...secrets, onInbound: () => {} })
  const hook = await listen(channel.listener)
  await whatsapp.setWebhook(`${hook.url}/`, secrets.verifyToken)
  const asked = whatsapp.say(person, 'The first.')
  return {
    port: createCloudPort({ client, to: person, replyTo: asked, clock }),
    render: renderWhatsApp,
    chat: { id: person },
    clock,
    pass: async (ms) => await clock.advance(ms, rest),
    screen: () =>
      whatsapp
        .screen(person)
        .filter(({ from }) => from === 'business')
        .map(({ id, kind, text, buttons, replyTo, document }) => ({
          id,
          text,
          replyTo,
          fileName: document?.name,
          isPicture: kind === 'image',
          fileText: document && new TextDecoder().decode(document.bytes),
          isSilent: false,
          buttons: buttons.map((one) => [one]),
        })),
    faults: ['rate-limited', 'refused', 'unreachable', 'unanswered', 'undelivered'],
    // Meta states none. 131056 asks for one message in 6 s to a person.
    limitMs: 6000,
    failNext: (fault) => {
      const planned = faults[fault]
      for (const kind of ['text', 'interactive', 'document', 'image'] as const)
        if (planned) whatsapp.inject({ ...planned, kind })
    },
    writeText: (text) => ({ id: whatsapp.say(person, text) }),
    deleteMessage: (id) => whatsapp.remove(person, id),
    notifications: () => whatsapp.notifications(person),
    secrets: [token],
    close: async () => {
      await whatsapp.close()
      await hook.stop()
    },
  }
}

const noEdits = 'the Cloud API has no edits'
const noRemoval = 'the Cloud API takes nothing back'
const noStreams = 'WhatsApp has no streams'
const noMarkup = 'WhatsApp refuses no markup: what it does not take is shown as it is'
const unsought = 'WhatsApp shows a bot no chat'
const albums = 'WhatsApp has no call for albums: its apps put pictures together on their own'
const cloud: ChannelContractOptions['skip'] = {
  'posts an album in order, pictures and others': albums,
  'posts nothing of an album that is refused or limited': albums,
  'mentions only the people that it is given, above the text': 'the Cloud API has no mentions',
  'edits in place': noEdits,
  'treats an edit without changes as done': noEdits,
  'does not notify for edits': noEdits,
  'reports a message that is gone': noEdits,
  'reports a message that can no longer be edited': noEdits,
  'reports faults of edits and removals like those of posts': noEdits,
  'removes its status at the end': noEdits,
  removes: noRemoval,
  'treats the removal of a missing message as done': noRemoval,
  'notifies only for loud posts': 'the Cloud API has no silent posts',
  'posts once per key': 'the Cloud API takes no key with a message',
  'shows an unconfirmed post once when it is retried with its key': 'the Cloud API takes no key with a message',
  'writes a preview that is not a message': 'WhatsApp has no previews',
  'appends to a stream, which can be edited once closed': noStreams,
  'reports refused markup, or posts without it': noMarkup,
  'shows a reply once when the first post is unparsable': noMarkup,
}

const socketFaults: Partial<Readonly<Record<StageFault, SocketFault>>> = {
  'rate-limited': { type: 'refused', statusCode: 429 },
  refused: { type: 'refused', statusCode: 403 },
  unanswered: { type: 'accept-then-drop' },
}

/** A chat of the fake Baileys. */
function baileysStage(jid: string): Stage {
  const hand = createHandClock()
  let aheadMs = 0
  const clock = { ...hand, now: () => hand.now() + aheadMs }
  const baileys = createFakeBaileys({ clock })
  let socket = baileys.connect()
  let isAway = false
  /** The port's ids of messages that people wrote. */
  const refs = new Map<string, string>()
  let isBare = true
  let inFlight = 0
  const slowed = (): typeof socket => ({
    ...socket,
    sendMessage: async (to, content, options) => {
      inFlight += 1
      // Most clauses write without a pacer, so the waiting time passes by itself here.
      if (isBare) await hand.advance(3000)
      return await socket.sendMessage(to, content, options).finally(() => {
        inFlight -= 1
      })
    },
  })
  let slow = slowed()
  /** The host connects again at once; without a socket for one call. */
  function source(): typeof socket | undefined {
    if (isAway) {
      isAway = false
      return undefined
    }
    if (!baileys.isConnected) {
      socket = baileys.connect()
      slow = slowed()
    }
    return slow
  }
  async function rest(): Promise<void> {
    isBare = false
    for (let calm = 0; calm < 3; calm = inFlight === 0 ? calm + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve))
  }
  const named = createNews(() => baileys.mentioned)
  return {
    port: createBaileysPort({ socket: source, jid, clock }),
    mentions: { actor: { id: '5@s.whatsapp.net', name: 'Ann' }, in: () => named() },
    render: renderWhatsApp,
    chat: { id: jid },
    clock,
    pass: async (ms) => await hand.advance(ms, rest),
    screen: () =>
      baileys
        .screen(jid)
        .filter(({ from }) => from === 'me')
        .map(({ id, text, replyTo = '', document, picture }) => {
          const fileName = document?.name
          const fileText = document && new TextDecoder().decode(document.bytes)
          return {
            id,
            text,
            isSilent: false,
            buttons: [],
            replyTo: refs.get(replyTo),
            fileName,
            fileText,
            isPicture: picture !== undefined,
          }
        }),
    faults: ['rate-limited', 'refused', 'unreachable', 'unanswered', 'fixed'],
    // WhatsApp states none. `rateLimitedMs` of our own holds.
    limitMs: 30_000,
    failNext: (fault) => {
      // WhatsApp doesn't refuse a late edit, so this makes it late.
      if (fault === 'fixed') aheadMs += 900_001
      if (fault === 'unreachable') isAway = true
      const planned = socketFaults[fault]
      if (planned) baileys.inject(planned)
    },
    writeText: (text) => {
      const id = baileys.say(jid, text)
      refs.set(id, `${id}/${jid.endsWith('@g.us') ? '111111111111111@lid' : jid}`)
      return { id: refs.get(id) ?? '' }
    },
    deleteMessage: (id) => baileys.revoke(jid, id),
    notifications: () => baileys.notifications(jid),
    close: async () => {},
  }
}

const silence = 'WhatsApp can post nothing silently'
const linked: ChannelContractOptions['skip'] = {
  'posts an album in order, pictures and others': albums,
  'posts nothing of an album that is refused or limited': albums,
  'reports later whether a post was delivered': 'each call waits for what WhatsApp says of its message',
  'finds a post with an unknown result, or resolves with unknown': unsought,
  'notifies only for loud posts': silence,
  'removes its status at the end': `${silence}: a status is only shown below a text`,
  'shows buttons and removes them': 'linked devices have no buttons',
  'asks, and accepts a button press as the answer': 'linked devices have no buttons',
  'keeps secrets out of its errors': 'a socket is handed over connected: the port is given no secret',
  'writes a preview that is not a message': 'WhatsApp has no previews',
  'appends to a stream, which can be edited once closed': noStreams,
  'reports refused markup, or posts without it': noMarkup,
  'shows a reply once when the first post is unparsable': noMarkup,
}

describe.each([
  ['Baileys in a private chat', '4917000000002@s.whatsapp.net'],
  ['Baileys in a group', '120363000000000000@g.us'],
])('%s', (name, jid) => {
  const clauses = portContract({ name, setup: () => baileysStage(jid), skip: linked })
  test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
})

describe('the Cloud API', () => {
  const clauses = portContract({ name: 'the Cloud API', setup: cloudStage, skip: cloud })
  test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
})
