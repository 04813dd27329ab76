import { createServer } from 'node:http'
import { startWhatsApp, type WhatsAppMessage } from '@reply/testing/whatsapp'
import { readEntities } from '../entities.ts'
import { ann, type Person } from '../people.ts'
import type { ControlView, MessageView } from '../view.ts'
import { type Chat, type ChatOptions, createMemory } from './chat.ts'

const token = 'whatsapp-demo'
const verifyToken = 'demo-verify'

/** Starts a fake WhatsApp with Ann's private chat with a number of the Cloud API, which has no groups here. */
export async function whatsappChat({ now }: ChatOptions): Promise<Chat> {
  const whatsapp = await startWhatsApp({ token })
  const memory = createMemory(now)
  const ours = accountOf(ann)
  const closers: (() => Promise<void>)[] = [whatsapp.close]
  const say: Chat['say'] = (person, text) => memory.wrote(whatsapp.say(ours, text, { name: person.name }), person)
  return {
    name: 'whatsapp',
    channel: {
      ...{ type: 'whatsapp', api: 'cloud', phoneNumberId: whatsapp.phoneNumberId, apiUrl: whatsapp.url },
      ...{ token: { env: 'WHATSAPP' }, appSecret: { env: 'WHATSAPP_APP' }, verifyToken: { env: 'WHATSAPP_VERIFY' } },
    },
    secrets: { WHATSAPP: token, WHATSAPP_APP: whatsapp.appSecret, WHATSAPP_VERIFY: verifyToken },
    load: async () => (await import('@reply/whatsapp/bridge')).bridgeChannel,
    accountOf,
    members: [ann],
    look: () => ({
      platform: 'whatsapp',
      title: 'OpenCode',
      messages: whatsapp.screen(ours).map(viewOf),
      status: whatsapp.typing(ours) ? 'typing …' : '',
      threads: [],
      dialogs: [],
    }),
    say,
    press: async (person, messageId, label) => {
      memory.wrote(whatsapp.press(ours, messageId, label, { name: person.name }), person)
      return undefined
    },
    submit: async () => {},
    stop: async (person) => say(person, '/stop'),
    observe: (listener) => void whatsapp.observe(listener),
    connected: async (listener) => {
      if (!listener) throw new Error('The bridge has no webhook for WhatsApp.')
      const server = createServer(listener)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      closers.unshift(async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      })
      const address = server.address()
      const port = address !== null && typeof address === 'object' ? address.port : 0
      await whatsapp.setWebhook(`http://127.0.0.1:${port}/`, verifyToken)
    },
    close: async () => {
      for (const close of closers) await close()
    },
  }

  /** Returns a message as the page shows it. */
  function viewOf({ id, from, text, entities, buttons, document, reaction }: WhatsAppMessage): MessageView {
    return {
      id,
      author: from === 'business' ? 'reply' : memory.authorOf(id),
      isBot: from === 'business',
      at: memory.atOf(id),
      body: readEntities(text, entities),
      tasks: [],
      // Its keyboards have one button to a row.
      rows: buttons.map(({ label }): readonly ControlView[] => [{ label, style: 'plain', options: [] }]),
      file: document && { name: document.name, bytes: document.bytes.length },
      reactions: reaction === undefined ? [] : [reaction],
      notes: [],
      isLive: false,
    }
  }
}

/** Returns the phone number of a person, which is the id. */
function accountOf({ number }: Person): string {
  return `1555000000${number}`
}
