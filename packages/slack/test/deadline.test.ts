import { testDeadline } from '../../sink/test/deadline.ts'
import { type SlackApi, slackSink } from '../src/index.ts'
import { token } from './app.ts'

testDeadline({ token } as unknown as SlackApi, (api, options) =>
  slackSink({ api, channelId: 'D0123456789', ...options }),
)
