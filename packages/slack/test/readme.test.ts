import { until } from '@reply/testing'
import { startSlack } from '@reply/testing/slack'
import { SocketModeClient, type SocketModeOptions } from '@slack/socket-mode'
import { WebClient, type WebClientOptions } from '@slack/web-api'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
import * as slackPackage from '../src/index.ts'

test("the README's second program posts the answer before it ends", async () => {
  const slack = await startSlack({ token: 'xoxb-readme' })
  class Local extends WebClient {
    constructor(token: string, options: WebClientOptions) {
      super(token, { ...options, slackApiUrl: slack.url })
    }
  }
  const modules = { '@reply/slack': slackPackage, '@slack/web-api': { WebClient: Local } }
  const logged = await runProgram({
    page: 'packages/slack/README.md',
    nth: 2,
    modules,
    env: { SLACK_BOT_TOKEN: 'xoxb-readme' },
  })
  expect(slack.screen('C0123456789')).toMatchObject([{ text: 'It is a typo.' }])
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await slack.close()
})

test("the README's first program answers the person that it names, in a thread", async () => {
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
  const ends: (() => unknown)[] = []
  await runProgram({
    page: 'packages/slack/README.md',
    ends,
    modules: {
      '@reply/slack': slackPackage,
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
  for (const end of ends) await end()
  await slack.close()
})
