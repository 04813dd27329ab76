import { markdownCases, type Renderings } from './cases.ts'

/** Slack takes Markdown as written; an invisible U+2060 disables only what would notify someone. */
export const slackRenderings: Renderings = {
  ...markdownCases,
  'mention of all': '@\u2060everyone @\u2060here <\u2060!channel> <\u2060!here> <\u2060@U123> <@123> <@&1> <\u2060#C1>',
  'spoken mention in code': '`@\u2060everyone <\u2060!channel>`',
}
