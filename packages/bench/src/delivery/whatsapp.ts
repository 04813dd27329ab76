import { createWhatsAppAdapter } from '@chat-adapter/whatsapp'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { createCloudClient, whatsappSink } from '@reply/whatsapp'
import { showOn } from './ours.ts'
import { postThrough, quiet } from './peer.ts'
import { type Platform, textOf } from './platform.ts'

const token = 'bench-token'
const to = '491700000001'

export const whatsapp: Platform = {
  name: 'WhatsApp',
  async open() {
    const fake = await startWhatsApp({ token })
    const { phoneNumberId } = fake
    const adapter = () =>
      createWhatsAppAdapter({
        accessToken: token,
        apiUrl: new URL(fake.url).origin,
        apiVersion: 'v23.0',
        appSecret: fake.appSecret,
        phoneNumberId,
        verifyToken: 'bench',
        logger: quiet,
      })
    const client = () => createCloudClient({ token, phoneNumberId, apiUrl: fake.url })
    return {
      observe: (look) => fake.observe(look),
      screen: () => textOf(fake.screen(to)),
      calls: () =>
        fake.calls.map(({ kind, status, code }) => ({
          name: kind,
          isRateLimited: status === 429 || code === 130429 || code === 131056,
        })),
      notifications: () => fake.notifications(to),
      refuseNext: () => fake.inject({ type: 'rate-limited' }),
      ours: (timeline, start) => showOn(whatsappSink({ client: client(), to }), timeline, start),
      peer: (timeline, start) => postThrough(adapter(), `whatsapp:${phoneNumberId}:${to}`, timeline, start),
      close: () => fake.close(),
    }
  },
}
