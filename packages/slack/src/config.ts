import { secretSource, sinkFields } from '@reply/sink/channel'
import * as z from 'zod'

/** An app in a bridge's config. */
export const slackConfig = z
  .strictObject({
    type: z.literal('slack').describe('A Slack app.'),
    token: secretSource.describe("The bot user's token: xoxb-…, from the page OAuth & Permissions."),
    events: z
      .enum(['socket', 'http'])
      .optional()
      .describe('Where events come from: Socket Mode, or requests to a URL that you enter in Slack. Default: socket.'),
    appToken: secretSource
      .optional()
      .describe('With events "socket": the app-level token with connections:write, xapp-….'),
    signingSecret: secretSource.optional().describe('With events "http": the Signing Secret on the app\'s page.'),
    apiUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('The address of the Web API. Default: https://slack.com/api/.'),
    ...sinkFields,
  })
  .refine(({ events, appToken }) => events === 'http' || appToken !== undefined, {
    path: ['appToken'],
    message: 'Socket Mode needs an appToken: an app-level token with connections:write.',
  })
  .refine(({ events, signingSecret }) => events !== 'http' || signingSecret !== undefined, {
    path: ['signingSecret'],
    message: 'Requests from Slack need a signingSecret: without one, anyone could post to the URL.',
  })

/** The same as a type. */
export type SlackConfig = z.infer<typeof slackConfig>
