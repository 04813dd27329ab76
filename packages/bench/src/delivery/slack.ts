import { createSlackAdapter } from '@chat-adapter/slack'
import { slackSink } from '@reply/slack'
import { startSlack } from '@reply/testing/slack'
import { WebClient } from '@slack/web-api'
import { showOn } from './ours.ts'
import { postThrough, quiet } from './peer.ts'
import { type Platform, textOf } from './platform.ts'

/** A direct message, where streams need no recipient. */
const channelId = 'D0000000001'

export const slack: Platform = {
  name: 'Slack',
  async open() {
    const fake = await startSlack()
    const { token, url, signingSecret } = fake
    const threadTs = fake.say(channelId, 'Go on.')
    const adapter = () => createSlackAdapter({ botToken: token, apiUrl: url, signingSecret, logger: quiet })
    const client = () =>
      new WebClient(token, { slackApiUrl: url, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true })
    return {
      observe: (look) => fake.observe(look),
      screen: () => textOf(fake.screen(channelId, threadTs)),
      calls: () => fake.calls.map(({ method, status }) => ({ name: method, isRateLimited: status === 429 })),
      notifications: () => fake.notifications(channelId),
      refuseNext: () => fake.inject({ type: 'rate-limited', retryAfterS: 3, method: /^chat\./ }),
      ours: (timeline, start) => showOn(slackSink({ api: client(), channelId, threadTs }), timeline, start),
      peer: (timeline, start) => postThrough(adapter(), `slack:${channelId}:${threadTs}`, timeline, start),
      close: () => fake.close(),
    }
  },
}
