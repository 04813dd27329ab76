import { markdownCases, type Renderings } from './cases.ts'

/**
 * Slack takes Markdown as written. An invisible U+2060 disables what would notify someone, and links to other places than
 * the web and mail become text.
 */
export const slackRenderings: Renderings = {
  ...markdownCases,
  'platform link': '[t]\u2060(tg:\u2060//resolve?domain=x)',
  'link to a person': '[t]\u2060(tg:\u2060//user?id=1)',
  'script link': '[t]\u2060(javascript:alert)',
  'local link': '[t]\u2060(/local)',
  'link with a name before its host': '[t]\u2060(https:\u2060//a.b@c.d)',
  'address with a name before its host': 'https:\u2060//a.b&#64;c.d',
  'link with a reference in its address': '[t](https://a.b/?c&amp;d)',
  'image without an address': '![]\u2060(!here)',
  'mention of all': '@\u2060everyone @\u2060here <\u2060!channel> <\u2060!here> <\u2060@U123> <@123> <@&1> <\u2060#C1>',
  'spoken mention in code': '`@\u2060everyone <\u2060!channel>`',
}
