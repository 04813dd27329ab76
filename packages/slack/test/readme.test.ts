import { startSlack } from '@reply/testing'
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
    ...{ modules, env: { SLACK_BOT_TOKEN: 'xoxb-readme' } },
  })
  expect(slack.screen('C0123456789')).toMatchObject([{ text: 'It is a typo.' }])
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await slack.close()
})
