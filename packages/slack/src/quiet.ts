import type { SlackFields } from './api.ts'

/**
 * Slack's options against mentions made from bare words, and against link previews: for one, Slack loads an address that
 * a model wrote. https://docs.slack.dev/reference/methods/chat.postMessage
 */
export const quiet: SlackFields = { parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false }
