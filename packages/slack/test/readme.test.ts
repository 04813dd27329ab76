import { until } from '@reply/testing'
import { startSlack } from '@reply/testing/slack'
import { SocketModeClient, type SocketModeOptions } from '@slack/socket-mode'
import { WebClient, type WebClientOptions } from '@slack/web-api'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
import * as slackPackage from '../src/index.ts'

test("the README's first program posts the answer before it ends", async () => {
  const slack = await startSlack({ token: 'xoxb-readme' })
  class Local extends WebClient {
    constructor(token: string, options: WebClientOptions) {
      super(token, { ...options, slackApiUrl: slack.url })
    }
  }
  const modules = { '@reply/slack': slackPackage, '@slack/web-api': { WebClient: Local } }
  const logged = await runProgram({
    page: 'packages/slack/README.md',
    modules,
    env: { SLACK_BOT_TOKEN: 'xoxb-readme' },
  })
  expect(slack.screen('C0123456789')).toMatchObject([{ text: 'It is a typo.' }])
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await slack.close()
})

test("the README's second program answers the person that it names, in a thread", async () => {
  const slack = await startSlack({ token: 'xoxb-readme' })
  class Local extends WebClient {
    constructor(token: string, options: WebClientOptions) {
      super(token, { ...options, slackApiUrl: slack.url })
    }
  }
  class LocalSocket extends SocketModeClient {
    constructor(options: SocketModeOptions) {
      super({ ...options, clientOptions: { slackApiUrl: slack.url } })
    }
  }
  const channels: slackPackage.SlackChannel[] = []
  const slackChannel = (options: slackPackage.SlackChannelOptions): slackPackage.SlackChannel => {
    const channel = slackPackage.slackChannel(options)
    channels.push(channel)
    return channel
  }
  await runProgram({
    page: 'packages/slack/README.md',
    nth: 2,
    modules: {
      '@reply/slack': { ...slackPackage, slackChannel },
      '@slack/web-api': { WebClient: Local },
      '@slack/socket-mode': { SocketModeClient: LocalSocket },
    },
    env: { SLACK_BOT_TOKEN: 'xoxb-readme', SLACK_APP_TOKEN: slack.appToken },
  })
  await until(() => slack.sockets > 0)
  const ts = slack.say('C1', 'what is it?', { mention: true, from: { id: 'U0123456789', name: 'Ann' } })
  const other = slack.say('C1', 'and for me?', { mention: true, from: { id: 'U2', name: 'Bob' } })
  await until(() => slack.screen('C1', ts).some(({ from }) => from === 'bot'))
  expect(slack.screen('C1', ts).at(-1)).toMatchObject({ text: 'It is a typo.' })
  expect(slack.screen('C1', other).some(({ from }) => from === 'bot')).toBe(false)
  for (const channel of channels) await channel.stop()
  await slack.close()
})
