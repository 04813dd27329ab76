import { createFakeBaileys, type FakeBaileys } from '@reply/testing/whatsapp'
import { bridgeChannel as whatsapp } from '@reply/whatsapp/bridge'
import { type BaileysLibrary, connectBaileys } from '../../whatsapp/src/baileys/connection.ts'
import type { Platform } from './platforms.ts'

export async function linkedDevice(): Promise<Platform> {
  return linkedDeviceOn(createFakeBaileys())
}

/** A linked device of WhatsApp. Files are not encrypted there: their path holds the content. */
export function linkedDeviceOn(account: FakeBaileys): Platform {
  const ids = { ann: '15550000001@s.whatsapp.net', bob: '15550000002@s.whatsapp.net' }
  const ours = (who: keyof typeof ids) => account.screen(ids[who]).filter(({ from }) => from === 'me')
  const number = '4915100000000'
  const library: BaileysLibrary = {
    findFile: async ({ directPath = '' }) => {
      const content = Buffer.from(directPath.slice(1), 'base64url').toString('base64')
      return { url: `data:application/octet-stream;base64,${content}`, decrypt: (bytes) => bytes }
    },
    login: async () => ({
      number: () => number,
      save: async () => {},
      connect: ({ onUpdate }) => {
        const socket = account.connect()
        socket.ev.on('connection.update', onUpdate)
        return { socket, end: () => account.drop(), pair: async () => '' }
      },
    }),
  }
  return {
    name: 'whatsapp',
    channel: { ...whatsapp, create: async (config, host) => await connectBaileys(config as never, host, library) },
    entry: { type: 'whatsapp', api: 'baileys', auth: './login', number },
    ...{ secrets: {}, ids, ready: async () => {}, labels: () => [], press: async () => {}, told: () => [] },
    say: (who, text) => void account.say(ids[who], text),
    send: (who, caption, files) => {
      for (const [index, file] of files.entries())
        account.say(ids[who], index === 0 ? caption : '', { file, ...(files.length > 1 && { albumId: caption }) })
    },
    speak: (who, { ogg: bytes }) =>
      void account.say(ids[who], '', { file: { name: '', bytes, mime: 'audio/ogg; codecs=opus', isVoice: true } }),
    texts: (who = 'ann') => ours(who).map(({ text }) => text),
    close: async () => {},
  }
}
