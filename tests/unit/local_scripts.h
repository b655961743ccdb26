/* SPDX-License-Identifier: GPL-2.0-only */
/* Conversations of a machine, as a capture shows them: each script is one packet or time a line.
 *
 *     > FLAGS SEQ ACK [LENGTH]              the machine sends
 *     < FLAGS SEQ ACK [LENGTH] PROOF [drop] a packet arrives; PROOF is before the verdict
 *     @ SECONDS                             the time from now on
 *
 * FLAGS: of TCP, S A F R; u: UDP; q: an echo request; r: its reply. PROOF: yes or no, and known,
 * guessed or unseen.
 */
#pragma once

#include <stdint.h>

#define OWN_PORT  40000
#define PEER_PORT 443

struct script {
	const char *name;
	const char *text;
	uint16_t own_port, peer_port; /* 0: OWN_PORT, PEER_PORT */
};

#define CONNECTED                  \
	"> S 100 0\n"              \
	"< SA 500 101 yes known\n" \
	"> A 101 501\n"

#define ACCEPTED                \
	"< S 500 0 no unseen\n" \
	"> SA 100 501\n"        \
	"< A 501 101 no known\n"

static const struct script scripts[] = {
	/* handshakes */
	{
		.name = "connect: proven from the SYN on",
		.text = CONNECTED "< A 501 101 9 yes known\n",
	},
	{
		.name = "connect: refused",
		.text = "> S 100 0\n"
			"< RA 0 101 yes known\n"
			"< A 501 101 no known\n",
	},
	{
		.name = "connect: no answer for 64 seconds",
		.text = "> S 100 0\n"
			"@ 63\n"
			"< A 1 1 yes known\n"
			"@ 64\n"
			"< A 1 1 no known\n",
	},
	{
		.name = "connect: a SYN sent again waits again",
		.text = "> S 100 0\n"
			"@ 63\n"
			"> S 100 0\n"
			"@ 100\n"
			"< SA 500 101 yes known\n",
	},
	{
		.name = "connect: the RST of a wrong ACK changes nothing",
		.text = "> S 100 0\n"
			"< SA 500 77 yes known\n"
			"> R 77 0\n"
			"< RA 0 78 yes known\n"
			"< R 0 0 yes known\n"
			"< SA 500 101 yes known\n"
			"@ 100\n"
			"< A 501 101 yes known\n",
	},
	{
		.name = "connect: a SYN-ACK that was dropped opens nothing",
		.text = "> S 100 0\n"
			"< SA 500 101 yes known drop\n"
			"> A 101 501\n"
			"@ 64\n"
			"< A 501 101 9 no known\n",
	},
	{
		.name = "connect: SYNs that cross are held to the end of the handshake",
		.text = "> S 100 0\n"
			"< S 500 0 yes known\n"
			"> SA 100 501\n"
			"< A 501 101 no known\n"
			"< A 501 101 yes known\n",
	},
	{
		.name = "accept: proven behind the handshake",
		.text = ACCEPTED "< A 501 101 9 yes known\n",
	},
	{
		.name = "accept: data completes it too",
		.text = "< S 500 0 no unseen\n"
			"> SA 100 501\n"
			"< A 501 101 9 no known\n"
			"< A 510 101 yes known\n",
	},
	{
		.name = "accept: a SYN that came again",
		.text = "< S 500 0 no unseen\n"
			"> SA 100 501\n"
			"< S 500 0 no known\n"
			"< A 501 101 no known\n"
			"< A 501 101 yes known\n",
	},
	{
		.name = "accept: an ACK that was dropped opens nothing",
		.text = "< S 500 0 no unseen\n"
			"> SA 100 501\n"
			"< A 501 101 no known drop\n"
			"> A 101 501 9\n"
			"< A 501 110 no known\n"
			"< A 501 110 yes known\n",
	},
	{
		.name = "accept: an ACK that was not captured",
		.text = "< S 500 0 no unseen\n"
			"> SA 100 501\n"
			"> A 101 501 9\n"
			"< A 501 110 yes guessed\n",
	},
	{
		.name = "accept: a repeated acknowledgment of the SYN opens nothing",
		.text = "> SA 100 501\n"
			"> A 101 501\n"
			"< A 501 7 no known\n",
	},
	{
		.name = "accept: the handshake starts over behind a full queue",
		.text = ACCEPTED "> SA 100 501\n"
				 "< A 501 101 no known\n"
				 "< A 501 101 yes known\n",
	},
	{
		.name = "accept: given up by the peer",
		.text = "> SA 100 501\n"
			"< R 501 0 no known\n"
			"< A 501 101 no known\n"
			"< A 501 101 no known\n",
	},

	/* forged */
	{
		.name = "forged: ACKs to a listener",
		.text = "< A 1 1 no unseen\n"
			"< A 2 2 9 no unseen\n"
			"< A 3 3 no unseen\n",
	},
	{
		.name = "forged: the RST that answers one is nothing",
		.text = "< A 1 1 no unseen\n"
			"> R 1 0\n"
			"< A 1 1 no unseen\n",
	},
	{
		.name = "forged: a SYN and an ACK of it",
		.text = "< S 500 0 no unseen\n"
			"> SA 100 501\n"
			"< A 501 102 no known\n"
			"> R 102 0\n"
			"< A 501 100 no known\n"
			"< A 501 99 9 no known\n"
			"< A 501 101 no known\n"
			"< A 501 101 yes known\n",
	},
	{
		.name = "forged: a RST ends no handshake",
		.text = "> SA 100 501\n"
			"< R 900 0 no known\n"
			"< A 501 101 no known\n"
			"< A 501 101 yes known\n",
	},
	{
		.name = "forged: a RST beside the window's edge ends nothing",
		.text = ACCEPTED "< R 502 0 yes known\n"
				 "< R 500 0 yes known\n"
				 "< RA 9 9 yes known\n"
				 "< A 501 101 yes known\n",
	},
	{
		.name = "forged: a SYN ends nothing",
		.text = ACCEPTED "< S 9 0 yes known\n"
				 "< A 501 101 yes known\n",
	},
	{
		.name = "forged: a FIN elsewhere is none",
		.text = ACCEPTED "< FA 900 101 yes known\n"
				 "> FA 101 501\n"
				 "< A 501 102 yes known\n"
				 "< A 501 102 no guessed\n",
	},
	{
		.name = "forged: UDP that passes is no proof",
		.text = "< u 0 0 no unseen\n"
			"< u 0 0 no unseen\n",
	},

	/* the end */
	{
		.name = "RST of the peer",
		.text = ACCEPTED "< R 501 0 yes known\n"
				 "< A 501 101 no known\n",
	},
	{
		.name = "RST of the peer behind its data",
		.text = ACCEPTED "< A 501 101 9 yes known\n"
				 "< R 510 0 yes known\n"
				 "< A 510 101 no known\n",
	},
	{
		.name = "RST of the peer behind a gap that the machine acknowledged",
		.text = ACCEPTED "< A 600 101 9 yes known\n"
				 "> A 101 609\n"
				 "< R 609 0 yes known\n"
				 "< A 609 101 no known\n",
	},
	{
		.name = "RST that was dropped",
		.text = ACCEPTED "< R 501 0 yes known drop\n"
				 "< A 501 101 yes known\n",
	},
	{
		.name = "RST of the machine",
		.text = ACCEPTED "> R 101 501\n"
				 "< A 501 101 no known\n",
	},
	{
		.name = "RST behind a FIN, which it does not count",
		.text = ACCEPTED "< FA 501 101 yes known\n"
				 "< R 501 0 yes known\n"
				 "< A 502 101 no known\n",
	},
	{
		.name = "machine closes first: TIME_WAIT",
		.text = CONNECTED "> FA 101 501\n"
				  "< FA 501 102 yes known\n"
				  "> A 102 502\n"
				  "< FA 501 102 no known\n"
				  "> A 102 502\n"
				  "< A 502 102 no known\n",
	},
	{
		.name = "machine closes first: acknowledged, and then closed",
		.text = CONNECTED "> FA 101 501\n"
				  "< A 501 102 yes known\n"
				  "< FA 501 102 no guessed\n"
				  "< A 502 102 no guessed\n",
	},
	{
		.name = "machine closes first: data after that count no more, even if it takes them",
		.text = CONNECTED "> FA 101 501\n"
				  "< A 501 102 yes known\n"
				  "< A 501 102 9 no guessed\n"
				  "> A 102 510\n"
				  "< A 510 102 9 no guessed\n",
	},
	{
		.name = "machine closes first: a FIN and its data sent again open nothing",
		.text = CONNECTED "> FA 101 501 9\n"
				  "< A 501 111 yes known\n"
				  "> FA 101 501 9\n"
				  "< A 501 111 no guessed\n",
	},
	{
		.name = "machine closes first: data in the FIN's flight",
		.text = CONNECTED "> FA 101 501\n"
				  "< A 501 101 9 yes known\n"
				  "> A 102 510\n"
				  "< FA 510 102 yes known\n"
				  "< A 511 102 no known\n",
	},
	{
		.name = "both close at once",
		.text = CONNECTED "> FA 101 501\n"
				  "< FA 501 101 yes known\n"
				  "> A 102 502\n"
				  "< A 502 102 yes known\n"
				  "< A 502 102 no known\n",
	},
	{
		.name = "peer closes first",
		.text = ACCEPTED "< FA 501 101 yes known\n"
				 "> A 101 502\n"
				 "< A 502 101 yes known\n"
				 "> FA 101 502\n"
				 "< A 502 101 yes known\n"
				 "< A 502 102 yes known\n"
				 "< A 502 102 no known\n",
	},
	{
		.name = "peer closes first: its FIN comes before what it follows",
		.text = ACCEPTED "< FA 510 101 yes known\n"
				 "< A 501 101 9 yes known\n"
				 "> A 101 511\n"
				 "> FA 101 511\n"
				 "< A 511 102 yes known\n"
				 "< A 511 102 no known\n",
	},
	{
		.name = "FIN that was dropped",
		.text = ACCEPTED "< FA 501 101 yes known drop\n"
				 "< A 501 101 yes known\n"
				 "> FA 101 501\n"
				 "< A 501 102 yes known\n"
				 "< FA 501 102 no guessed\n"
				 "< A 502 102 no guessed\n",
	},
	{
		.name = "port used again by the peer, from TIME_WAIT",
		.text = CONNECTED "> FA 101 501\n"
				  "< FA 501 102 yes known\n"
				  "< S 9000 0 no known\n"
				  "> SA 7000 9001\n"
				  "< A 9001 7001 no known\n"
				  "< A 9001 7001 yes known\n",
	},
	{
		.name = "port used again by the machine",
		.text = CONNECTED "> R 101 501\n"
				  "< A 501 101 no known\n"
				  "> S 7000 0\n"
				  "< SA 9000 7001 yes known\n"
				  "@ 100\n"
				  "< A 9001 7001 yes known\n",
	},
	{
		.name = "sequence numbers wrap",
		.text = "> SA 4294967295 4294967290\n"
			"< A 4294967290 0 no known\n"
			"< A 4294967290 0 9 yes known\n"
			"< R 3 0 yes known\n"
			"< A 3 0 no known\n",
	},

	/* in the middle */
	{
		.name = "began before the capture",
		.text = "< A 501 101 9 no unseen\n"
			"> A 101 510\n"
			"< A 510 101 yes guessed\n"
			"< R 510 0 yes guessed\n"
			"< A 510 101 no guessed\n",
	},
	{
		.name = "began before the capture, and ends",
		.text = "> FA 101 501\n"
			"< FA 501 102 yes guessed\n"
			"< A 502 102 no guessed\n",
	},
	{
		.name = "TIME_WAIT's acknowledgment opens nothing",
		.text = CONNECTED "> FA 101 501\n"
				  "< FA 501 102 yes known\n"
				  "> A 102 502\n"
				  "> A 102 502\n"
				  "< A 502 102 no known\n",
	},
	{
		.name = "data of what seemed closed",
		.text = CONNECTED "< R 501 0 yes known\n"
				  "> A 101 501 9\n"
				  "< A 501 110 yes guessed\n",
	},

	/* UDP and echo */
	{
		.name = "UDP: an answer",
		.text = "> u 0 0\n"
			"< u 0 0 yes known\n"
			"@ 60\n"
			"< u 0 0 yes known\n",
	},
	{
		.name = "UDP: an answer after more than a minute",
		.text = "> u 0 0\n"
			"@ 61\n"
			"< u 0 0 no guessed\n",
	},
	{
		.name = "UDP: what is received does not lengthen the minute",
		.text = "> u 0 0\n"
			"@ 50\n"
			"< u 0 0 yes known\n"
			"@ 61\n"
			"< u 0 0 no guessed\n",
	},
	{
		.name = "UDP: what is sent does",
		.text = "> u 0 0\n"
			"@ 50\n"
			"> u 0 0\n"
			"@ 110\n"
			"< u 0 0 yes known\n",
	},
	{
		.name = "UDP: a client is not established by being answered",
		.text = "< u 0 0 no unseen\n"
			"> u 0 0\n"
			"< u 0 0 no guessed\n"
			"@ 59\n"
			"> u 0 0\n"
			"@ 118\n"
			"> u 0 0\n"
			"< u 0 0 no guessed\n",
		.own_port = 53,
		.peer_port = 40000,
	},
	{
		.name = "UDP: the mark of a client lasts a minute",
		.text = "< u 0 0 no unseen\n"
			"> u 0 0\n"
			"@ 61\n"
			"> u 0 0\n"
			"< u 0 0 yes guessed\n",
		.own_port = 53,
		.peer_port = 40000,
	},
	{
		.name = "UDP: the answer to one that was dropped is no question",
		.text = "< u 0 0 no unseen drop\n"
			"> u 0 0\n"
			"< u 0 0 no guessed\n"
			"> u 0 0\n"
			"@ 61\n"
			"> u 0 0\n"
			"< u 0 0 yes guessed\n",
		.own_port = 53,
		.peer_port = 40000,
	},
	{
		.name = "UDP: a question beside one that was dropped",
		.text = "< u 0 0 no unseen drop\n"
			"> u 0 0\n"
			"< u 0 0 yes guessed\n",
		.own_port = 40000,
		.peer_port = 53,
	},
	{
		.name = "UDP: one that came before the socket leaves none",
		.text = "< u 0 0 no unseen\n"
			"> u 0 0\n"
			"< u 0 0 yes guessed\n",
		.own_port = 40000,
		.peer_port = 53,
	},
	{
		.name = "echo: a reply",
		.text = "> q 0 0\n"
			"< r 0 0 yes known\n"
			"@ 61\n"
			"< r 0 0 no guessed\n",
	},
	{
		.name = "echo: a reply that nobody asked for",
		.text = "< r 0 0 no unseen\n",
	},
	{
		.name = "echo: who is answered is not established",
		.text = "< q 0 0 no known\n"
			"> r 0 0\n"
			"< r 0 0 no unseen\n",
	},
};
