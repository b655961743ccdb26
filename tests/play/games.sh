# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by play.sh: game servers and a voice server, with their real clients on a screen that nobody sees.

# screen: for A, in files of its own, and no sound.
screen() {
	mkdir -p "$TMP/home" && printf 'pcm.!default { type null }\nctl.!default { type null }\n' >"$TMP/home/.asoundrc"
	bg in_ns A sh -c "exec Xvfb -displayfd 3 -screen 0 320x240x24 -nolisten tcp 3>'$TMP/screen'"
	eventually 10 test -s "$TMP/screen"
}

# on_screen CMD…
on_screen() {
	in_ns A env -i PATH="$PATH" HOME="$TMP/home" DISPLAY=":$(<"$TMP/screen")" LIBGL_ALWAYS_SOFTWARE=1 LP_NUM_THREADS=1 SDL_AUDIODRIVER=dummy \
		XDG_RUNTIME_DIR="$TMP/home" nice "$@"
}

# presses KEY…: holds one key after the other, and moves the mouse, as one who plays.
presses() {
	local key
	while true; do
		on_screen xdotool search --onlyvisible --name . windowfocus
		for key in "$@"; do
			on_screen xdotool keydown "$key" mousemove_relative -- $((RANDOM % 41 - 20)) $((RANDOM % 21 - 10))
			sleep 0.3
			on_screen xdotool keyup "$key" mousemove_relative -- $((RANDOM % 41 - 20)) $((RANDOM % 21 - 10))
		done
	done
}

# asks_status ARG…: quakestat gets an answer from the server.
asks_status() {
	in_ns A quakestat -timeout 2 "$@" | tail -n 1 | tee "$TMP/status" && ! grep -qE 'DOWN|no response|TIMEOUT' "$TMP/status"
}

# ---- source: a server that speaks the protocol as far as a firewall sees it; Debian has none of these games

source_packages() { echo qstat python3; }
source_missing() { lacks python3; }
source_serves() { bg in_ns B python3 "$TOP/tests/play/source.py" serve 27015 && eventually 5 listens B 27015; }
source_joins() {
	local n
	for n in {101..112}; do ip -n "$(ns A)" addr add "10.77.0.$n/24" dev veth-A || return; done
	bg in_ns A python3 "$TOP/tests/play/source.py" play 10.77.0.2 27015 10.77.0.{101..112} && CLIENT=$BG_PID
	if command -v quakestat >/dev/null; then
		bg forever asks_status -a2s 10.77.0.2:27015
	else
		bg forever true
	fi
}
source_plays() { alive "$CLIENT" && went_on; }
source_newcomers() { asked_udp 27015 ffffffff54536f7572636520456e67696e6520517565727900 "$@"; }
source_floods() { floods_of 27015 'any udp dport 27015-27030'; }

# ---- quake: OpenArena

quake_packages() { echo openarena-server openarena ioquake3 qstat; }
quake_missing() { lacks /usr/games/openarena-server /usr/games/openarena quakestat Xvfb; }
quake_serves() {
	mkdir -p "$TMP/quake" &&
		bg in_ns B env HOME="$TMP/quake" /usr/games/openarena-server +set dedicated 1 +set net_ip 10.77.0.2 +set net_enabled 1 \
			+set sv_pure 0 +set sv_lanForceRate 0 +set bot_enable 1 +map oa_dm1 +addbot sarge 3 +addbot grism 3 &&
		eventually 30 listens B 27960
}
quake_joins() {
	screen && bg on_screen /usr/games/openarena +set r_mode -1 +set r_customwidth 160 +set r_customheight 120 +set r_fullscreen 0 +set com_maxfps 125 \
		+set cl_maxpackets 125 +set s_initsound 0 +set net_enabled 1 +set in_mouse 0 +set rate 25000 +connect 10.77.0.2 && CLIENT=$BG_PID
	bg forever asks_status -q3s 10.77.0.2:27960
	eventually 60 quake_in_game && bg presses w a s d space
}
quake_in_game() { in_ns A quakestat -P -q3s 10.77.0.2:27960 | tee "$TMP/players" && grep -q 'Unnamed\|Player' "$TMP/players"; }
quake_plays() { alive "$CLIENT" && eventually 10 quake_in_game && went_on; }
# As the client begins to join.
quake_newcomers() { asked_udp 27960 ffffffff6765746368616c6c656e6765202d373234333235363539205175616b65334172656e61 "$@"; }
quake_floods() { floods_of 27960 'any udp dport 27960-27970'; }

# ---- minecraft: Luanti, which Debian calls Minetest; a player that presses keys at random

minecraft_packages() { echo minetest-server minetest; }
minecraft_missing() { lacks /usr/games/minetestserver /usr/games/minetest Xvfb; }
minecraft_serves() {
	printf '%s\n' 'creative_mode = true' 'enable_damage = false' 'server_announce = false' 'mg_name = flat' >"$TMP/luanti" &&
		bg in_ns B env HOME="$TMP" /usr/games/minetestserver --config "$TMP/luanti" --world "$TMP/world" --gameid minetest_game --port 30000 \
			--logfile "$TMP/luanti.log" && eventually 30 listens B 30000
}
minecraft_joins() {
	printf '%s\n' 'random_input = true' 'screen_w = 160' 'screen_h = 120' 'viewing_range = 40' 'fps_max = 30' 'enable_sound = false' 'enable_shaders = false' \
		'continuous_forward = true' >"$TMP/player" && screen &&
		bg on_screen /usr/games/minetest --config "$TMP/player" --go --address 10.77.0.2 --port 30000 --name player --password play --logfile "$TMP/player.log" &&
		CLIENT=$BG_PID && eventually 60 grep -q 'joins game' "$TMP/luanti.log"
}
minecraft_plays() { alive "$CLIENT" && ! grep -qE 'player (leaves|times out)|timed out' "$TMP/luanti.log"; }
minecraft_floods() { floods_of 30000 'any udp dport 30000-30010 not payload 0 4f457403'; }

# ---- teeworlds

teeworlds_packages() { echo teeworlds-server teeworlds qstat; }
teeworlds_missing() { lacks /usr/games/teeworlds-server /usr/games/teeworlds Xvfb; }
teeworlds_serves() {
	bg in_ns B env HOME="$TMP" /usr/games/teeworlds-server 'sv_register 0' 'sv_map dm1' 'sv_port 8303' 'bindaddr 10.77.0.2' 'console_output_level 1' && eventually 20 listens B 8303
}
teeworlds_joins() {
	screen && bg on_screen /usr/games/teeworlds 'gfx_fullscreen 0' 'gfx_screen_width 320' 'gfx_screen_height 240' 'gfx_vsync 0' 'gfx_limitfps 1' 'gfx_maxfps 30' \
		'cl_cpu_throttle 15' 'snd_enable 0' 'connect 10.77.0.2:8303' && CLIENT=$BG_PID && eventually 60 grep -q 'player has entered the game\|has joined\|team_join' "$TMP/bg"
}
teeworlds_plays() { alive "$CLIENT" && ! grep -qiE 'client dropped|Timeout' "$TMP/bg"; }
teeworlds_floods() { floods_of 8303 'any udp dport 8303-8310'; }

# ---- mumble

mumble_packages() { echo mumble-server python3-cryptography; }
mumble_missing() {
	lacks murmurd python3
	python3 -c 'import cryptography' || echo 'there is no python3-cryptography here (scripts/deps.sh --play)'
}
mumble_serves() {
	printf '%s\n' "database=$TMP/mumble.sqlite" "logfile=$TMP/mumble.log" host=10.77.0.2 port=64738 bandwidth=140000 users=50 uname=root "pidfile=$TMP/mumble.pid" >"$TMP/mumble.ini" &&
		bg in_ns B murmurd -fg -ini "$TMP/mumble.ini" && eventually 20 listens B 64738
}
mumble_joins() {
	bg in_ns A python3 "$TOP/tests/play/mumble.py" 10.77.0.2 64738 one 50 && CLIENT=$BG_PID && bg in_ns A python3 "$TOP/tests/play/mumble.py" 10.77.0.2 64738 two 100
	eventually 20 grep -qE 'hears [1-9]' "$TMP/bg"
}
mumble_plays() { alive "$CLIENT" && ! grep -qE 'Traceback|Error' "$TMP/bg" && grep hears "$TMP/bg" | tail -n 2; }
mumble_newcomers() { greeted 64738 "$@"; }
mumble_floods() { floods_of 64738 'any udp dport 64738'; }
