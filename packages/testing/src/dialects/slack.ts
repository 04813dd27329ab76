import { markdownCases, type Renderings } from './cases.ts'

/**
 * Slack takes Markdown as written. An invisible U+2060 disables what would notify someone, and links to other places than
 * the web and mail become text.
 */
export const slackRenderings: Renderings = {
  ...markdownCases,
  'platform link': 't',
  'link to a person': 't',
  'script link': 't',
  'local link': 't',
  'mention of all': '@\u2060everyone @\u2060here <\u2060!channel> <\u2060!here> <\u2060@U123> <@123> <@&1> <\u2060#C1>',
  'spoken mention in code': '`@\u2060everyone <\u2060!channel>`',
}
