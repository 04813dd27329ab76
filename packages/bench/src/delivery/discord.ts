import { createDiscordAdapter } from '@chat-adapter/discord'
import { REST } from '@discordjs/rest'
import { discordRestOptions, discordSink } from '@reply/discord'
import { startDiscord } from '@reply/testing/discord'
import { showOn } from './ours.ts'
import { postThrough, quiet } from './peer.ts'
import { type Platform, textOf } from './platform.ts'

const token = 'bench-token'
const channelId = '100000000000000001'

export const discord: Platform = {
  name: 'Discord',
  async open() {
    const fake = await startDiscord({ token })
    const adapter = () =>
      createDiscordAdapter({
        botToken: token,
        apiUrl: `${fake.url}/v10`,
        applicationId: '100000000000000002',
        publicKey: fake.publicKey,
        logger: quiet,
      })
    const rest = () => new REST({ ...discordRestOptions, api: fake.url }).setToken(token)
    return {
      observe: (look) => fake.observe(look),
      screen: () => textOf(fake.screen(channelId)),
      calls: () =>
        fake.calls.map(({ name, status, body: { content } }) => ({
          name,
          isRateLimited: status === 429,
          text: typeof content === 'string' ? content : undefined,
        })),
      notifications: () => fake.notifications(channelId),
      refuseNext: () => fake.inject({ type: 'rate-limited', retryAfterS: 3 }),
      ours: (timeline, start) => showOn(discordSink({ rest: rest(), channelId }), timeline, start),
      peer: (timeline, start) => postThrough(adapter(), `discord:100000000000000003:${channelId}`, timeline, start),
      close: () => fake.close(),
    }
  },
}
