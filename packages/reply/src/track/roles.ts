import type { MessageHead } from '../event.ts'

/** Whose a message is, and of which of its session's runs. A run that is gone is -1. */
export interface MessageRole {
  readonly messageID: string
  readonly role: 'user' | 'assistant' | 'summary'
  readonly run: number
}

/** In order of arrival. A list and no map: it is copied for each new message, and read nearly always at its end. */
export type MessageRoles = readonly MessageRole[]

/** How many messages of a session are remembered, so that late news of an old one open no reply. */
const maxRoles = 5000

export function roleIn(roles: MessageRoles, messageID: string): MessageRole | undefined {
  for (let at = roles.length - 1; at >= 0; at--) if (roles[at]?.messageID === messageID) return roles[at]
  return undefined
}

export function withRole(roles: MessageRoles, role: MessageRole): MessageRoles {
  const known = roleIn(roles, role.messageID)
  if (known) return roles.with(roles.indexOf(known), role)
  return [...(roles.length < maxRoles ? roles : roles.slice(1 - maxRoles)), role]
}

export function roleOf(head: MessageHead): MessageRole['role'] {
  return head.summary ? 'summary' : head.role
}
