#include "glyphs.h"

#include <algorithm>
#include <array>

// Rendered by FreeType from DejaVu Sans Mono at 24 pixels, a free font (Bitstream Vera Fonts Copyright, Bitstream Inc.;
// DejaVu changes are in the public domain). Shades are hexadecimal digits, row by row; -n is a run of n + 1 zeros, =n
// one of f.

namespace attn::report {
namespace {

// clang-format off
constexpr std::array kGlyphs = {
    Glyph{0x21, 6, -18, 3, 18, "ef6ef6ef6ef6ef6ef6ef6ef6ef6df5cf4bf3-8ef6ef6ef6"},
    Glyph{0x22, 3, -18, 8, 7, "0ff008f70ff008f70ff008f70ff008f70ff008f70ff008f70ff008f7"},
    Glyph{0x23, 0, -18, 15, 18, "-5ed003fa-63fa007f6-67f600bf2-6bf200ee-7ee003fa-39=b609=b6-3af300de-7de002fb-62fb006f7-66f7009f4"
        "-3=c10=c1-21fc005f8-65f8008f5-68f500cf1-6cf101fc-61fc004f9-5"},
    Glyph{0x24, 2, -18, 12, 22, "-31f2-81f2-81f2-65befeb72-2b=6e006fe52f337c00bf801f2-4bf601f2-48fc11f2-41dfeaf4-52a=3e92-415fbef"
        "e3-41f21afc-41f203ff-41f205ff0a9411f25dfa0c=7c1016acefec71-51f2-81f2-81f2-81f2-4"},
    Glyph{0x25, 0, -18, 15, 18, "01aeeb3-71d=3e2-67f9116fa-69f1-2cd-67f8116fb-31201d=43-25e80019dfb3002be6-97fa1-84dd4-819f81-86e"
        "c3-82be60018efc4-2da1-2b=45001-34fb215ed-66f3-29f1-54fa214ed-7b=46-718dfc500"},
    Glyph{0x26, 0, -18, 15, 18, "-35ceeb5-77=54-51ef921383-53fe-b3fe-cef4-b8fc-b7ff8-98fcef5-75fc15fe2-2cf10df2009fd100cf03fc-3cf"
        "a00ed04fc-31ef73f904fe1-34ffcf300ef9-47ff9-27ffa3015cffb-39=69ef5-34aefea407fe1"},
    Glyph{0x27, 6, -18, 3, 7, "cf4cf4cf4cf4cf4cf4cf4"},
    Glyph{0x28, 5, -18, 6, 21, "-2cf2005f9-2df2006fa-2cf5003ff-27fc-2af8-2df6-2ef5-2ff4-2ef5-2df6-2af8-27fc-23ff-3cf5-26fa-3df2-"
        "25f9-3cf2"},
    Glyph{0x29, 4, -18, 6, 21, "af4-22fc-3af6-24fc-3df4-28f9-25fd-22ff2-2ff4-2ef6-2df6-2ef5-2ff4002ff2005fd-28f9-2df4004fc-2af60"
        "02fc-2af4-2"},
    Glyph{0x2a, 2, -18, 11, 10, "-37e-87e-4a8107e004c34be77e4be71003affd71-33affd61004be77e4be71a8107e004c3-37e-87e-4"},
    Glyph{0x2b, 1, -14, 13, 12, "-4cf3-9cf3-9cf3-9cf3-9cf3-4=b6=b6-4cf3-9cf3-9cf3-9cf3-9cf3-4"},
    Glyph{0x2c, 4, -4, 5, 7, "02ffd02ffd02ffc06ff50afc00df402fc00"},
    Glyph{0x2d, 4, -8, 7, 2, "c=44c=44"},
    Glyph{0x2e, 5, -4, 4, 4, "4ffa4ffa4ffa4ffa"},
    Glyph{0x2f, 1, -18, 12, 20, "-8cf6-74fe1-7bf7-73fe1-7af9-72ff2-79fa-71ef3-78fb-71ef4-76fc-8df5-75fd-8cf6-74fe1-7bf8-73fe1-7af"
        "9-72ff2-79fa-8"},
    Glyph{0x30, 1, -18, 12, 18, "-24beec7-46=5c-22ffa216ff8009fd-37fe10ef7-31ff52ff3-4cf94ff1-49fb6ff-58fc6fe02de708fd6fe02de708f"
        "d6ff-58fc4ff1-49fb2ff3-4cf90ef7-31ff509fd-37fe102ffa216ef8-26=5c-44befd7-2"},
    Glyph{0x31, 2, -18, 11, 18, "026aeff3-22=53-22d954ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3"
        "-62ff3-3c=7c0c=7c"},
    Glyph{0x32, 1, -18, 12, 18, "037bdfeb6-21=7b101c842028ff9-89ff1-74ff4-73ff4-76ff1-7cf9-77fe2-64ff5-63ef7-62ef8-61dfa-61cfa-61"
        "cfb-7bfc1-63=963=96"},
    Glyph{0x33, 1, -18, 12, 18, "027bdfeb6-3d=6b100b842027ff9-88ff1-73ff3-73ff2-78fe-628ff6-36=3c5-46=3d6-726efa-82ff4-8bf8-8cf9-"
        "72ff75b631026efe16=7e40049cefec8100"},
    Glyph{0x34, 1, -18, 13, 18, "-52eff-8a=2-74fdff-7dd6ff-67f56ff-52ec06ff-5af306ff-44fa006ff-4de2006ff-38f8-26ff-22fe1-26ff-2af"
        "6-36ff-2c=a4c=a4-66ff-96ff-96ff-96ff-2"},
    Glyph{0x35, 1, -18, 12, 18, "09=74009=74009f9-89f9-89f9-89f9-89fddfeb6-39=6b-2883113aff9-89ff2-71ff6-8df7-8df7-71ff5-78ff15b6"
        "31039ff805=7a-25acefea5-2"},
    Glyph{0x36, 1, -18, 12, 18, "-37cefc71-22d=59-2cfe610278006fe2-7cf7-71ff2-74fd06cfea4005fc8=5606fefa203bff26ffc-31ef86ff6-49f"
        "b5ff3-47fd2ff3-47fd0ef6-49fb0afc-31ef803ffa213cfe2007=65-34aefea300"},
    Glyph{0x37, 1, -18, 12, 18, "6=9a6=97-73ff2-78fb-8ef5-75fe1-7bf9-71ff4-77fd-8df8-73ff2-79fc-71ef6-76ff1-7bfa-72ff5-78fe-8df9-"
        "5"},
    Glyph{0x38, 1, -18, 12, 18, "-27cefd92-21c=5e4008ff7214dfe10dfa-33ff50ff6-4ef70ef5-4ef60af9-33ff202ef7214df8-22a=3d6-36d=3ea1"
        "008fe6213bfd12ff5-4df95ff-58fc7ff-58fd5ff5-4dfb1efe6113bff604e=69-228cefea500"},
    Glyph{0x39, 1, -18, 12, 18, "0018deec7-32d=5c100bfe5116ef802ff6-36ff16ff-5ff57fd-5df87fd-5dfa6ff-5ffb2ff6-36ffc0bfe6116eefc02"
        "d=4d7fb0018dfe918fa-8bf7-72ff3-7afc003a4113bff4004=66-35befd92-2"},
    Glyph{0x3a, 5, -12, 4, 12, "4ffa4ffa4ffa4ffa-f4ffa4ffa4ffa4ffa"},
    Glyph{0x3b, 4, -12, 5, 15, "04ffa04ffa04ffa04ffa-f-42ffd02ffd02ffc06ff50afc00df402fc00"},
    Glyph{0x3c, 1, -13, 13, 12, "-9396-616cff6-439effe820016c=2a5-239effd71-4ffe93-7ffe93-739effc71-616c=2a4-739effe82-616cff6-93"
        "96"},
    Glyph{0x3d, 1, -11, 13, 7, "=b6=b6-f-f-6=b6=b6"},
    Glyph{0x3e, 1, -13, 13, 12, "c61-9ffe93-75b=2c61-628dffe93-74a=2c61-617cff6-616cff6-44a=2c610028dffe93-25b=2c61-4ffe93-7c61-9"},
    Glyph{0x3f, 2, -18, 11, 18, "003adfda2-28=5e302fc5115efc028-46ff2-63ff2-67fe-63ef7-54ef9-53ef9-6cf9-62ff2-63ff-73ff-f-d4ff1-6"
        "4ff1-64ff1-3"},
    Glyph{0x40, 0, -16, 14, 20, "-317befd92-44e=5e3-24ffb41029fe101ef6-59f609f8-62fa1ee10029eea2ec4f8001d=3dec7f5009fb314dfc9f200"
        "ee1-23fcaf102fb-4ecaf102fb-4ec9f300ee1-23fc7f500afb314dfc3fa001d=3dec0df2002aeeb2dc07fb-bcfa1-92"
        "dfe731-71a=5d-639cefd910"},
    Glyph{0x41, 0, -18, 14, 18, "-45ffc-9a=22-8efdf6-74fe7fa-78fa3fe-7df60ef4-52ff20af9-57fd007fd-5bf9003ff3-31ff5-2ef7-35ff2-2af"
        "c-39fd-36ff1-2e=86003=9a008fe1-48fe00cfa-54ff42ff5-6ef96ff1-69fd"},
    Glyph{0x42, 1, -18, 13, 18, "1=5da3-21=87001ff50013bff301ff5-31ef801ff5-4bfa01ff5-4bfa01ff5-31ef701ff50013bfe101=7a2001=7c500"
        "1ff5-227ff601ff5-47fe11ff5-42ff31ff5-42ff41ff5-46ff31ff5-226efd01=8e301=5eb7100"},
    Glyph{0x43, 1, -18, 12, 18, "-34adfeb61-29=69009ff930139803ff7-7afd-8ef8-72ff5-74ff3-75ff2-75ff2-74ff3-73ff5-8ef8-8afd-83ff7-"
        "89ff9201388-29=69-34adfec71"},
    Glyph{0x44, 1, -18, 12, 18, "6=3db71-26=6e5006ff0025cff406ff-4bfd06ff-43ff46ff-5df96ff-5bfc6ff-59fd6ff-58fe6ff-58fe6ff-59fd6f"
        "f-5bfc6ff-5df96ff-43ff56ff-4bfd06ff0025cff406=6e5006=3eb71-2"},
    Glyph{0x45, 2, -18, 11, 18, "a=8aa=8aafa-7afa-7afa-7afa-7afa-7afa-7a=85a=85afa-7afa-7afa-7afa-7afa-7afa-7a=8ea=8e"},
    Glyph{0x46, 2, -18, 12, 18, "4=904=904ff2-74ff2-74ff2-74ff2-74ff2-74ff2-74=8404=8404ff2-74ff2-74ff2-74ff2-74ff2-74ff2-74ff2-7"
        "4ff2-7"},
    Glyph{0x47, 1, -18, 12, 18, "-217cefda5-22d=6501dfe610249509fe2-61ff7-76ff1-79fd-8bfb-8cfa-8cfa-3d=2ebfb-3d=2e9fd-55fe6ff1-45"
        "fe1ff6-45fe0afd1-35fe01efd5113afe003d=67-217cefd930"},
    Glyph{0x48, 1, -18, 12, 18, "6ff-58fd6ff-58fd6ff-58fd6ff-58fd6ff-58fd6ff-58fd6ff-58fd6ff-58fd6=9d6=9d6ff-58fd6ff-58fd6ff-58fd"
        "6ff-58fd6ff-58fd6ff-58fd6ff-58fd6ff-58fd"},
    Glyph{0x49, 2, -18, 11, 18, "a=81a=81-3ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-3a=81a=81"},
    Glyph{0x4a, 1, -18, 11, 18, "-29=53-29=53-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-62ff3-63ff2-64ff182-48fe0be83"
        "116ef90b=6d1017bdeed8100"},
    Glyph{0x4b, 1, -18, 14, 18, "6ff-52efa06ff-42dfb006ff-31dfc1006ff-21cfd1-26ff-2bfd2-36ff00afe2-46ff09fe3-56ff8ff8-66=4e2-56=2"
        "5dfb-56ff604ff6-46ff-29fe2-36ff-21efb-36ff-35ff6-26ff-4bfe2006ff-42efb006ff-57ff606ff-6cfe1"},
    Glyph{0x4c, 2, -18, 12, 18, "7fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87fe-87=957=95"},
    Glyph{0x4d, 1, -18, 13, 18, "=25-4eff6=2a-34=26ffde-38fdf6ff9f4-2dccf6ff4f9003f7cf6ff3be008f3cf6ff37f40dd0cf6ff32f92f80cf6ff3"
        "0cd7f30cf6ff307fed00cf6ff302ff900cf6ff300df400cf6ff3-6cf6ff3-6cf6ff3-6cf6ff3-6cf6ff3-6cf6ff3-6cf"
        "6"},
    Glyph{0x4e, 1, -18, 12, 18, "6ffc-47fc6=23-37fc6=29-37fc6feee1-27fc6fe8f6-27fc6fe2fc-27fc6fe0bf3007fc6fe05f9007fc6fe00ee107fc"
        "6fe008f607fc6fe002fc07fc6fe-2cf37fc6fe-26f97fc6fe-3ee8fc6fe-39fdfc6fe-33=2c6fe-4cffc6fe-46ffc"},
    Glyph{0x4f, 1, -18, 13, 18, "-25befd81-48=5d2-25ff9215efb-2cfb-34ff302ff5-4df805ff1-4afc07fe-58fe08fd-57ff09fd-56ff19fd-56ff1"
        "8fd-57ff07fe-58fe05ff1-4afc02ff5-4df800cfb-34ff3005ff9214efb-39=5d2-45befd81-2"},
    Glyph{0x50, 2, -18, 12, 18, "a=4ec7100a=7d20afa-228ffc0afa-48ff3afa-43ff5afa-43ff5afa-48ff3afa-228ffc0a=7e20a=4ec7100afa-8afa"
        "-8afa-8afa-8afa-8afa-8afa-8afa-8"},
    Glyph{0x51, 1, -18, 13, 21, "-25befd81-48=5d2-25ff9215efb-2cfb-34ff302ff5-4df805ff1-4afc07fe-58fe08fd-57ff09fd-56ff19fd-56ff1"
        "8fd-57ff07fe-58fe05ff1-4afc02ff5-4df900cfb-34ff4005ff9214efb-38=5d2-45be=22-81cfd1-81dfc-92c400"},
    Glyph{0x52, 1, -18, 14, 18, "5=4ec81-35=7e3-25ff10027efd-25ff1-36ff4005ff1-31ff7005ff1-31ff6005ff1-35ff3005ff10026efa-25=6e8-"
        "35=6a1-35ff1004dfc-35ff1-22ef6-25ff1-38fd-25ff1-31ff6005ff1-49fd005ff1-43ff505ff1-5bfb05ff1-55ff"
        "3"},
    Glyph{0x53, 1, -18, 12, 18, "-26befdb72001b=6d00afe720248b02ff4-75fe-85ff-83ff8-8cffd841-42c=4b4-46b=48-648eff5-71dfa-87fd-87"
        "fc-8cfa2c742014bff42=870037bdffd9300"},
    Glyph{0x54, 0, -18, 14, 18, "7=be7=be-5ef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-aef6-4"},
    Glyph{0x55, 1, -18, 12, 18, "4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4"
        "afb4ff2-4afb4ff2-4afa2ff2-4bf90ef6-31ef609fe6103bfe101c=65-36cefd9200"},
    Glyph{0x56, 0, -18, 14, 18, "3ff4-6cfa0ef8-51ff509fc-55ff105ff1-49fc001ff4-4df7-2bf8-31ff3-27fc-35fe-33ff1-29fa-4ef5-2df5-49f"
        "8002ff1-45fc006fc-51ff10af8-6cf50df3-67f92fe-73fd6fa-8efcf5-89=21-85ffc-4"},
    Glyph{0x57, 0, -18, 15, 18, "ef6-8ef6cf7-8ff3af9-72ff17fb-74fe05fc-76fc03fe002ff8007fa01ff105ffb009f800ef308fee00bf500cf40be8"
        "f30cf3009f60eb5f60ef1007f82f81f91fe-25f96f40dc3fc-23fb9f10af5fa-21fdcd006f9f7-3effa003fef5-3bff6"
        "-2eff3-39ff3-2bff1-37fe-38fe-2"},
    Glyph{0x58, 0, -18, 15, 18, "0afc-51ef8002ef6-48fd1-27fe1-22ff5-4df8-2bfa-54ff204fe2-6afa0df7-72ffafc-98=23-91ffb-a8=23-83ffa"
        "fc-8cfa0df6-66fe105fe1-41ef7-2cf9-49fd-34ff3-24ff4-4bfb-2dfa-52ff507fe2-69fd1"},
    Glyph{0x59, 0, -18, 14, 18, "4ff3-6cfb0bfb-55ff303ff4-4df9-29fc-36fe1-21ef6001ef7-47fd007fd-6df71ef5-65fe9fc-8c=23-83ffa-aff6"
        "-aff6-aff6-aff6-aff6-aff6-aff6-aff6-4"},
    Glyph{0x5a, 1, -18, 13, 18, "0e=970e=96-89fe1-73ff6-8cfb-87fe2-72ff7-8bfc-86ff3-71ef7-89fc-84ff3-8df8-88fd1-72ff4-8bf9-82=ab3"
        "=ab"},
    Glyph{0x5b, 5, -18, 6, 21, "9=369=369f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29f9-29=3"
        "69=36"},
    Glyph{0x5c, 1, -18, 12, 20, "9fa-82ff2-8af9-83fe1-8bf8-84fe1-8cf6-85fd-9df5-86fc-81ef4-88fb-81ef3-89fa-82ff2-8af9-83fe1-8bf7-"
        "84fe-9cf6"},
    Glyph{0x5d, 4, -18, 6, 21, "e=30e=3-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff-22ff0e=3"
        "0e=30"},
    Glyph{0x5e, 0, -18, 14, 7, "-43ffa-81d=26-7bfc6ff3-57fd108fd1-34fe2-2afa-21ef4-4bf700bf6-51df4"},
    Glyph{0x5f, 0, 4, 15, 2, "=d7=d7"},
    Glyph{0x60, 3, -19, 6, 4, "4fd2-25fc-35fa-36f7"},
    Glyph{0x61, 1, -13, 12, 13, "015aceed82-27=6e3007a52013bfd-81ef3-8cf50039de=4606=862ffa41-2cf66fd-5ef66fc-46ff63ff82028fef60a"
        "=59bf6007cfec60bf6"},
    Glyph{0x62, 2, -18, 12, 18, "bf6-8bf6-8bf6-8bf6-8bf6-8bf63beeb4-2bf9e=4700bffc302aff20bfe1-3cf90bfa-47fd0bf7-44ff0bf7-44ff0bf"
        "7-44ff0bfa-47fc0bfe1-3cf80bffc302aff20bf9e=4600bf63beeb4-2"},
    Glyph{0x63, 2, -13, 11, 13, "-24adfeb7100a=6709ff82013862ff6-67fd-7afa-7bf9-7afa-77fd-72ff6-79ff820138600a=67-25adfeb61"},
    Glyph{0x64, 1, -18, 12, 18, "-8ef3-8ef3-8ef3-8ef3-8ef30018dfd70ef301d=49ef30afe5117=232ff5-38ff36fe-43ff38fc-5ff38fb-5ef38fc-"
        "5ff35fe-43ff32ff5-38ff30afe5117=2301d=49ef30019dfd70ef3"},
    Glyph{0x65, 1, -13, 13, 13, "-24adfeb4-48=67-26ff82128ff401ef6-48fa05fe-53fe07=a08=a07fb-95fe-91ef6-97ff830135a7-28=78-33adfe"
        "ca510"},
    Glyph{0x66, 2, -18, 11, 18, "-47d=27-38=47-3ef71-52ff-73fe-4b=87b=87-23fe-73fe-73fe-73fe-73fe-73fe-73fe-73fe-73fe-73fe-73fe-4"},
    Glyph{0x67, 1, -13, 12, 18, "0018dfd70ef301d=49ef30afe5117=231ff5-38ff35fe-43ff38fc-5ff38fb-5ef38fc-5ff35fe-43ff32ff5-38ff30a"
        "fe5117=2301d=48ef30018dfd70ef3-71ff1-75fd001b62126ef7001=6b-339deec6-2"},
    Glyph{0x68, 2, -18, 11, 18, "bf7-7bf7-7bf7-7bf7-7bf7-7bf719dfd600bf8d=460bfeb303cfd0bfe1-22ff2bf9-4ef4bf7-4df5bf7-4df5bf7-4df"
        "5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5"},
    Glyph{0x69, 2, -18, 11, 18, "-3af8-7af8-7af8-f-a=48-4=48-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-3e=8ce=8c"},
    Glyph{0x6a, 2, -18, 8, 23, "-4ff3-4ff3-4ff3-f0a=430a=43-4ff3-4ff3-4ff3-4ff3-4ff3-4ff3-4ff3-4ff3-4ff3-4ff3-4ff3-4ff2-33ff1-22"
        "bfc0c=440c=2c500"},
    Glyph{0x6b, 2, -18, 13, 18, "4ff-94ff-94ff-94ff-94ff-94ff-31cfb104ff-21cfa-24ff002df9-34ff02df9-44ff2ef8-54ffeff8-54=29ff4-44"
        "ff508fe2-34ff-2cfb-34ff-22ef8-24ff-35ff4004ff-4afe104ff-41dfb0"},
    Glyph{0x6c, 1, -18, 12, 18, "2=47-42=47-8af7-8af7-8af7-8af7-8af7-8af7-8af7-8af7-8af7-8af7-8af7-8af8-88fa-85ff5-8c=42-419e=22"},
    Glyph{0x6d, 1, -13, 13, 13, "bf5bec23cfc20bfe=2cd=2b0bfb14ffc13ff1bf600df600cf3bf400bf500bf4bf400bf400af4bf400bf400af4bf400bf"
        "400af4bf400bf400af4bf400bf400af4bf400bf400af4bf400bf400af4bf400bf400af4"},
    Glyph{0x6e, 2, -13, 11, 13, "bf719dfd600bf8d=460bfeb303cfd0bfe1-22ff2bf9-4ef4bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5"
        "bf7-4df5bf7-4df5"},
    Glyph{0x6f, 1, -13, 12, 13, "-26cefd92-3b=5e3007ff7104dfd10ef8-32ff63ff2-4afa5fe-58fc6fe-57fc5fe-58fc3ff2-4afa0ef8-32ff608ff7"
        "104cfe100b=5e4-36cefd9200"},
    Glyph{0x70, 2, -13, 11, 18, "cf63beeb400cf9=560cffc302afe2cfe1-3df8cf9-48fccf7-45fecf6-44ffcf7-45fecf9-48fccfe1-3df8cffc302af"
        "f2cf9=560cf63beeb400cf6-7cf6-7cf6-7cf6-7cf6-7"},
    Glyph{0x71, 1, -13, 12, 18, "-27dfd81cf500b=4bcf508ff6116eff50ef7-36ff53ff2-31ff55fe-5df56fe-5cf55fe-5df53ff2-31ff50ef7-36ff5"
        "08ff6116eff500c=4bcf50017dfd80cf5-8cf5-8cf5-8cf5-8cf5-8cf5"},
    Glyph{0x72, 4, -13, 10, 13, "bf607ced91bf6b=48bfce720267bff4-5bfb-6bf8-6bf6-6bf6-6bf6-6bf6-6bf6-6bf6-6bf6-6"},
    Glyph{0x73, 2, -13, 11, 13, "006cefdb5-2a=6604ff72024a606fc-75fe1-61dfea63-419e=2e8-536aff9-76fe-73ff17a52114cfc08=6e3015adef"
        "d9200"},
    Glyph{0x74, 1, -17, 12, 17, "-3ef3-8ef3-8ef3-8ef3-47=917=91-3ef3-8ef3-8ef3-8ef3-8ef3-8ef3-8ef3-8ef5-8bfc3-75=51-45be=21"},
    Glyph{0x75, 2, -13, 11, 13, "bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5af8-31ff59fb-36ff55ff7115eef50c="
        "48df501aeec60df5"},
    Glyph{0x76, 1, -13, 13, 13, "af9-52ff24fe-57fb00ef4-4cf6009f9-33ff1003fe-38fa-3df5-2df5-37fa004fe-42ff109f9-5cf60ef3-56fb4fd-"
        "61ffbf8-7b=22-75ffc-4"},
    Glyph{0x77, 0, -13, 15, 13, "df4-8cf5af7-8ff16fa-73fd03fd-77f900ef200df400af600bf502ff900df2007f806fbd01fe-23fb0bc5f25fa-3ee1"
        "e71f78f7-3bf7f30bbbf3-38fed007fee-44ff9002ffb-41ff4-2df7-2"},
    Glyph{0x78, 0, -13, 14, 13, "04fe2-4afb-28fc-36fd1-3bf9003ff4-41ef51df7-64feafb-87ffd1-83ffa-81dfef6-7afa4fe3-57fd108fd1-33ff"
        "4-2cfa-21df7-32ef600bfb-55ff3"},
    Glyph{0x79, 1, -13, 13, 18, "9fa-6ef53ff1-45fe00cf7-4bf8006fd-31ff2001ef3-27fb-39f9-2df5-33fe103fe-5cf609f8-56fb1ef2-51ef7fb-"
        "79=26-73ffe1-8cfa-81ef4-87fd-84ef7-6d=2c1-6dfea1-6"},
    Glyph{0x7a, 2, -13, 11, 13, "5=835=83-67fa-65fc1-53ee2-51df4-6cf6-6af8-67fb-65fd1-53ee2-69=839=83"},
    Glyph{0x7b, 2, -18, 10, 22, "-44bdfd-33=3d-39fd3-5bf7-6cf6-6cf6-6cf6-6cf6-6ef4-429fe1-26=2c4-36=2c4-52afe1-6ef4-6cf6-6cf6-6cf"
        "6-6cf6-6bf7-69fd3-53=3d-44befd"},
    Glyph{0x7c, 6, -18, 3, 24, "cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4cf4"},
    Glyph{0x7d, 2, -18, 10, 22, "6fec81-36=39-518ff-61ff2-6ef3-6ef3-6ef3-6ef3-6df6-68fd41-419=2d-319=2d-38fd41-4df6-6ef3-6ef3-6ef"
        "3-6ef3-51ff2-418ff-36=39-36fec81-3"},
    Glyph{0x7e, 1, -9, 13, 3, "4adfec8311396=b6b520248ceec71"},
    Glyph{0xa1, 6, -13, 3, 18, "ef6ef6ef6-8bf3cf4df5ef6ef6ef6ef6ef6ef6ef6ef6ef6"},
    Glyph{0xa2, 2, -16, 11, 20, "-5c6-8c6-8c6-53adfeb61007=6705ff92c63960dfa00c6-24ff200c6-26fd-2c6-27fc-2c6-26fe-2c6-24ff200c6-3"
        "dfa00c6-35ffa3c6396007=67-239dfec61-5c6-8c6-8c6-8c6-2"},
    Glyph{0xa3, 1, -18, 13, 18, "-43aefd92-44=5c-4dfd4025a-34ff4-87fe-99fc-99fb-99fb-99fb-7e=71-2e=71-49fb-99fb-99fb-99fb-99fb-66"
        "=a06=a0"},
    Glyph{0xa4, 2, -13, 11, 10, "3c4-41b61bfadfdaed300cf613df2002f8-23f6004f3-3e9004f3-3e9002f8-23f5-2cf613df201afadfeaed33c4-42b"
        "6"},
    Glyph{0xa5, 0, -18, 14, 18, "4ff3-6cfa09fc-55fe201ef5-4df6-26fd-37fb-4bf6001ef2-42fe108f7-3a=382=420a=3eb=42-4bffe2-82ff8-5a="
        "a20a=a2-5ff6-aff6-aff6-aff6-aff6-aff6-4"},
    Glyph{0xa6, 6, -17, 3, 21, "cf4cf4cf4cf4cf4cf4cf4cf4cf4-8cf4cf4cf4cf4cf4cf4cf4cf4cf4"},
    Glyph{0xa7, 2, -18, 11, 20, "002aded93-24=6-2bfc3026c-2df5-7bf9-74ffa2-52dffe71-22ee36efd4008f60018ff509f6-36fe06fe2-3df10afe"
        "7001ee-26efd6cf5-318=25-63dfc-72ef4-7df500983118ff200b=59-227cefc6-2"},
    Glyph{0xa8, 3, -18, 8, 2, "4ff20afb4ff20afb"},
    Glyph{0xa9, 0, -16, 15, 14, "-217cefd93-54ea41027e9-34e5-51ba001e503aefc601d708c04fa3139205e0c60cd-7e4e40f9-7c6e40f9-7c6c60cd"
        "-7e48c04fa3128205e01e603aefc601d7004e5-51ca-34ea41027e9-517cefd93-3"},
    Glyph{0xaa, 3, -18, 9, 12, "04befc6002b4129f7-6ce-68f204be=335fa3108f3be-3af3be-21ef37f813bff307dfd88f3-88=64"},
    Glyph{0xab, 1, -12, 12, 11, "-48-353-21bd-26f3001cf9008fd102df8009fc102df700afb1009fa004fe1-22df700afb1-22df8009fc1-21cf9008f"
        "d1-21bd-27f3-48-353"},
    Glyph{0xac, 1, -10, 13, 6, "=b6=b6-98f6-98f6-98f6-98f6"},
    Glyph{0xae, 0, -16, 15, 14, "-217cefd93-54ea41027e9-34e5-51ba001e50bffec501d708c00bc018f305e0c600bc002f600e4e400bc018f300c6e4"
        "00b=2d5-2c6c600bc17f5-2e48c00bc009e205e01e60bc001dc1d7004e5-51ca-34ea41027e9-517cefd93-3"},
    Glyph{0xaf, 3, -18, 8, 2, "4=5b4=5b"},
    Glyph{0xb0, 3, -18, 8, 7, "019efb300cd318f45f3-2cc7f1-29e5f3-2cc0dc318f4019deb30"},
    Glyph{0xb1, 1, -14, 13, 14, "-4cf3-9cf3-9cf3-9cf3-4=b6=b6-4cf3-9cf3-9cf3-9cf3-f-e=b6=b6"},
    Glyph{0xb2, 3, -18, 8, 10, "05ceda202a313de1-47f5-49f4-32ec-31cd2-21ce2-21ce3-21de3-33=57"},
    Glyph{0xb3, 3, -18, 8, 10, "03aeec500a402af4-44f8-32ae3004ffe5-42af5-41fb-41fb29312bf506cedb40"},
    Glyph{0xb4, 5, -19, 7, 4, "-28fa-26fb-23fb1002ec1-2"},
    Glyph{0xb5, 2, -13, 12, 18, "bf7-4df50bf7-4df50bf7-4df50bf7-4df50bf7-4df50bf7-4df50bf7-4df50bf7-4df50bf8-4ff50bfb-34ff50bff82"
        "15dff70bfb=49ffdbf47dfc41ce8bf4-8bf4-8bf4-8bf4-8bf4-8"},
    Glyph{0xb6, 1, -18, 12, 20, "0029d=5105=4309f12=5309f18=5309f1b=5309f1b=5309f18=5309f12=5309f105=4309f10029dff309f1-47f309f1-"
        "47f309f1-47f309f1-47f309f1-47f309f1-47f309f1-47f309f1-47f309f1-47f309f1-47f309f1"},
    Glyph{0xb7, 5, -10, 4, 4, "4ffa4ffa4ffa4ffa"},
    Glyph{0xb8, 4, 0, 6, 5, "-2c9-34f3-26f76=354dfe80"},
    Glyph{0xb9, 4, -18, 7, 10, "=35-35f5-35f5-35f5-35f5-35f5-35f5-35f5-35f500b=4b"},
    Glyph{0xba, 2, -18, 10, 12, "002aefc6-22ec217f700af3-2bf20ed-36f62fb-34f82fb-34f80ed-36f60af2-2bf202ec217f7-22aefc6-cc=62"},
    Glyph{0xbb, 2, -12, 12, 11, "71-253-4bc1006e4-37fd203ef5-36fe303ef6-35fe402df8-37fb003ff1005fe402df8006fe303ef6007fd203ef5-2b"
        "c1006e4-371-253-4"},
    Glyph{0xbc, 0, -20, 14, 23, "0=34-a6f4-a6f4-a6f4-a6f4-a6f4-a6f4-a6f4-a6f4-8c=4a-e37bc-4147bed9620148cfc951-48c851-3cf7-96ef7-"
        "82e7f7-8bb3f7-76f23f7-62e803f7-69d103f7-6b=5c-93f7-a3f700"},
    Glyph{0xbd, 0, -20, 14, 23, "0=34-a6f4-a6f4-a6f4-a6f4-a6f4-a6f4-a6f4-a6f4-8c=4a-e37bc-4147bed9620148cfc951-48c85102adec4-7951"
        "2af5-a1fa-a3f9-abf3-98f5-97f6-98f7-98f7-ad=4c0"},
    Glyph{0xbe, 0, -20, 14, 23, "017dfd81-667116f9-bed-916f8-8eff9-a16fa-bbf1-abf1-595117fb-63aeec71-e37bc-4147bed9620148cfc951-4"
        "8c851-3cf7-96ef7-82e7f7-8bb3f7-76f23f7-62e803f7-69d103f7-6b=5c-93f7-a3f700"},
    Glyph{0xbf, 2, -13, 10, 18, "-3afb-6afb-6afb-f-a8fa-69fa-6bf9-53ff4-43ef9-43ef9-41ef9-58fd-6bfa-6afd-4376ffa2039f90b=5c2007cf"
        "ec600"},
    Glyph{0xc0, 0, -22, 14, 22, "-33ed1-a4fb-b6f8-f-75ffc-9a=22-8efdf6-74fe7fa-78fa3fe-7df60ef4-52ff20af9-57fd007fd-5bf9003ff3-31"
        "ff5-2ef7-35ff2-2afc-39fd-36ff1-2e=86003=9a008fe1-48fe00cfa-54ff42ff5-6ef96ff1-69fd"},
    Glyph{0xc1, 0, -22, 14, 22, "-68f9-94fb-92ec1-f-75ffc-9a=22-8efdf6-74fe7fa-78fa3fe-7df60ef4-52ff20af9-57fd007fd-5bf9003ff3-31"
        "ff5-2ef7-35ff2-2afc-39fd-36ff1-2e=86003=9a008fe1-48fe00cfa-54ff42ff5-6ef96ff1-69fd"},
    Glyph{0xc2, 0, -22, 14, 22, "-44ffb-83eb5f9-61db005f6-f-55ffc-9a=22-8efdf6-74fe7fa-78fa3fe-7df60ef4-52ff20af9-57fd007fd-5bf90"
        "03ff3-31ff5-2ef7-35ff2-2afc-39fd-36ff1-2e=86003=9a008fe1-48fe00cfa-54ff42ff5-6ef96ff1-69fd"},
    Glyph{0xc3, 0, -21, 14, 21, "-21bfd719e-58e24bed5-f-55ffc-9a=22-8efdf6-74fe7fa-78fa3fe-7df60ef4-52ff20af9-57fd007fd-5bf9003ff"
        "3-31ff5-2ef7-35ff2-2afc-39fd-36ff1-2e=86003=9a008fe1-48fe00cfa-54ff42ff5-6ef96ff1-69fd"},
    Glyph{0xc4, 0, -21, 14, 21, "-24ff20afb-54ff20afb-f-55ffc-9a=22-8efdf6-74fe7fa-78fa3fe-7df60ef4-52ff20af9-57fd007fd-5bf9003ff"
        "3-31ff5-2ef7-35ff2-2afc-39fd-36ff1-2e=86003=9a008fe1-48fe00cfa-54ff42ff5-6ef96ff1-69fd"},
    Glyph{0xc5, 0, -22, 14, 22, "-48deb3-79d318e1-6e8001f6-6cd318f4-64e=29-8b=22-8efcf7-74fd7fb-79f93ff1-6df50ef5-53ff20af9-57fd0"
        "06fe-5bf9003ff3-31ff5-2ef8-35ff1-2afc-3afd-36ff2-2e=86004=9a008fe1-48fe00cfa-54ff42ff5-6ef96ff1-"
        "69fd"},
    Glyph{0xc6, 0, -18, 14, 18, "-35=79-39=79-3df18fa-62fd08fa-66f908fa-6af608fa-6ef208fa-53fe008fa-57fa008=4400bf7008=4400ef3008"
        "fa-44fe-28fa-48=6a-4c=6a-31ff3-28fa-35fd-38fa-39f9-38=4cdf5-38=4c"},
    Glyph{0xc7, 1, -18, 12, 23, "-34adfeb61-29=69009ff930139803ff7-7afd-8ef8-72ff5-74ff3-75ff2-75ff2-74ff3-73ff5-8ef8-8afd-83ff7-"
        "89ff9201388-29=69-34adfec71-6ab-92f5-84f9-53=37-52cfea100"},
    Glyph{0xc8, 2, -22, 11, 22, "001df3-72ed1-73eb-ea=8aa=8aafa-7afa-7afa-7afa-7afa-7afa-7a=85a=85afa-7afa-7afa-7afa-7afa-7afa-7a"
        "=8ea=8e"},
    Glyph{0xc9, 2, -22, 11, 22, "-44fc1-52ed1-6ce2-ea=8aa=8aafa-7afa-7afa-7afa-7afa-7afa-7a=85a=85afa-7afa-7afa-7afa-7afa-7afa-7a"
        "=8ea=8e"},
    Glyph{0xca, 2, -22, 11, 22, "-22efd1-41dd4eb-4bd203e9-ca=8aa=8aafa-7afa-7afa-7afa-7afa-7afa-7a=85a=85afa-7afa-7afa-7afa-7afa-"
        "7afa-7a=8ea=8e"},
    Glyph{0xcb, 2, -21, 11, 21, "01ff507fe-21ff507fe-ca=8aa=8aafa-7afa-7afa-7afa-7afa-7afa-7a=85a=85afa-7afa-7afa-7afa-7afa-7afa-"
        "7a=8ea=8e"},
    Glyph{0xcc, 2, -22, 11, 22, "003ed1-74fb-86f8-ea=81a=81-3ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6"
        "-3a=81a=81"},
    Glyph{0xcd, 2, -22, 11, 22, "-48f9-64fb-62ec1-ea=81a=81-3ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6"
        "-3a=81a=81"},
    Glyph{0xce, 2, -22, 11, 22, "-24ffb-53eb5f9-31db005f6-ca=81a=81-3ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7"
        "ff6-7ff6-3a=81a=81"},
    Glyph{0xcf, 2, -21, 11, 21, "04ff20afb-24ff20afb-ca=81a=81-3ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7ff6-7"
        "ff6-3a=81a=81"},
    Glyph{0xd0, 0, -18, 13, 18, "07=3db71-37=6e4-27ff0025cff3007ff-4bfd007ff-43ff407ff-5df807ff-5bfb07ff-59fde=51008fde=51008fd07"
        "ff-59fd07ff-5bfb07ff-5df807ff-43ff407ff-4bfd007ff0025cff3007=6e4-27=3eb71-2"},
    Glyph{0xd1, 1, -21, 12, 21, "001bfd719e-38e24bed5-d6ffc-47fc6=23-37fc6=29-37fc6feee1-27fc6fe8f6-27fc6fe2fc-27fc6fe0bf3007fc6f"
        "e05f9007fc6fe00ee107fc6fe008f607fc6fe002fc07fc6fe-2cf37fc6fe-26f97fc6fe-3ee8fc6fe-39fdfc6fe-33=2"
        "c6fe-4cffc6fe-46ffc"},
    Glyph{0xd2, 1, -22, 13, 22, "-23ed1-94fb-a6f8-f-45befd81-48=5d2-25ff9215efb-2cfb-34ff302ff5-4df805ff1-4afc07fe-58fe08fd-57ff0"
        "9fd-56ff19fd-56ff18fd-57ff07fe-58fe05ff1-4afc02ff5-4df800cfb-34ff3005ff9214efb-39=5d2-45befd81-2"},
    Glyph{0xd3, 1, -22, 13, 22, "-58f9-84fb-82ec1-f-45befd81-48=5d2-25ff9215efb-2cfb-34ff302ff5-4df805ff1-4afc07fe-58fe08fd-57ff0"
        "9fd-56ff19fd-56ff18fd-57ff07fe-58fe05ff1-4afc02ff5-4df800cfb-34ff3005ff9214efb-39=5d2-45befd81-2"},
    Glyph{0xd4, 1, -22, 13, 22, "-34ffb-73eb5f9-51db005f6-f-25befd81-48=5d2-25ff9215efb-2cfb-34ff302ff5-4df805ff1-4afc07fe-58fe08"
        "fd-57ff09fd-56ff19fd-56ff18fd-57ff07fe-58fe05ff1-4afc02ff5-4df800cfb-34ff3005ff9214efb-39=5d2-45"
        "befd81-2"},
    Glyph{0xd5, 1, -21, 13, 21, "001bfd719e-48e24bed5-f-25befd81-48=5d2-25ff9215efb-2cfb-34ff302ff5-4df805ff1-4afc07fe-58fe08fd-5"
        "7ff09fd-56ff19fd-56ff18fd-57ff07fe-58fe05ff1-4afc02ff5-4df800cfb-34ff3005ff9214efb-39=5d2-45befd"
        "81-2"},
    Glyph{0xd6, 1, -21, 13, 21, "004ff20afb-44ff20afb-f-25befd81-48=5d2-25ff9215efb-2cfb-34ff302ff5-4df805ff1-4afc07fe-58fe08fd-5"
        "7ff09fd-56ff19fd-56ff18fd-57ff07fe-58fe05ff1-4afc02ff5-4df800cfb-34ff3005ff9214efb-39=5d2-45befd"
        "81-2"},
    Glyph{0xd7, 1, -13, 12, 11, "069-53b11ef9-33ef603ef9003ef9-23ef93ef9-43e=29-66ffd-63e=29-43ef93ef9-23ef9003ef901ef9-33ef6059-"
        "54b1"},
    Glyph{0xd8, 0, -19, 15, 20, "-b21-45befd710bc-38=5c7f5-25ff9214eff9-3cfb-35ff3-22ff5-38ff8-25ff2-24fefc-27ff-21ec8fe-28fe-2be"
        "26ff-29fd006f506ff1009fd03f9006ff1009fd0cd1007ff-27fe9f3-28fe-25=27-3afc-22ffb-4df8-3ef9-34ff4-2"
        "5=28214efb-21ea9=5d2-29e105befd81-323-c"},
    Glyph{0xd9, 1, -22, 12, 22, "-23ed1-84fb-96f8-f4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4"
        "afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afa2ff2-4bf90ef6-31ef609fe6103bfe101c=65-36cefd9200"},
    Glyph{0xda, 1, -22, 12, 22, "-58f9-74fb-72ec1-f4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4"
        "afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afa2ff2-4bf90ef6-31ef609fe6103bfe101c=65-36cefd9200"},
    Glyph{0xdb, 1, -22, 12, 22, "-34ffb-63eb5f9-41db005f6-d4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4a"
        "fb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afa2ff2-4bf90ef6-31ef609fe6103bfe101c=65-36cefd9200"},
    Glyph{0xdc, 1, -21, 12, 21, "004ff20afb-34ff20afb-d4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4f"
        "f2-4afb4ff2-4afb4ff2-4afb4ff2-4afb4ff2-4afa2ff2-4bf90ef6-31ef609fe6103bfe101c=65-36cefd9200"},
    Glyph{0xdd, 0, -22, 14, 22, "-68f9-94fb-92ec1-f-24ff3-6cfb0bfb-55ff303ff4-4df9-29fc-36fe1-21ef6001ef7-47fd007fd-6df71ef5-65fe"
        "9fc-8c=23-83ffa-aff6-aff6-aff6-aff6-aff6-aff6-aff6-aff6-4"},
    Glyph{0xde, 2, -18, 12, 18, "afb-8afb-8afb-8a=4ed9300a=870afb-226eff2afb-44ff7afb-5ef9afb-5ef9afb-44ff7afb-226eff2a=870a=4ed9"
        "300afb-8afb-8afb-8afb-8afb-8"},
    Glyph{0xdf, 2, -18, 12, 18, "017cefd91-3c=5d1006ff7114df900afa-34fd00cf7-238ff00cf6009fb5200cf606fa-4cf60bf5-4cf60bfa-4cf604f"
        "fc3-2cf6004dff700cf6-36ef80cf6-43ff2cf6-5cf6cf6-5df6cf6872029ff3cf69=590cf618dfeb500"},
    Glyph{0xe0, 1, -19, 12, 19, "004fd2-85fc-95fa-96f7-f-c15aceed82-27=6e3007a52013bfd-81ef3-8cf50039de=4606=862ffa41-2cf66fd-5ef"
        "66fc-46ff63ff82028fef60a=59bf6007cfec60bf6"},
    Glyph{0xe1, 1, -19, 12, 19, "-68fa-76fb-73fb1-62ec1-f-c15aceed82-27=6e3007a52013bfd-81ef3-8cf50039de=4606=862ffa41-2cf66fd-5e"
        "f66fc-46ff63ff82028fef60a=59bf6007cfec60bf6"},
    Glyph{0xe2, 1, -19, 12, 19, "-31ef7-7bebf3-57f51cd1-33f8002e9-f-a15aceed82-27=6e3007a52013bfd-81ef3-8cf50039de=4606=862ffa41-"
        "2cf66fd-5ef66fc-46ff63ff82028fef60a=59bf6007cfec60bf6"},
    Glyph{0xe3, 1, -19, 12, 19, "-29ed606f-35f2cf4ac-39d02aed3-f-f-615aceed82-27=6e3007a52013bfd-81ef3-8cf50039de=4606=862ffa41-2"
        "cf66fd-5ef66fc-46ff63ff82028fef60a=59bf6007cfec60bf6"},
    Glyph{0xe4, 1, -18, 12, 18, "004ff20afb-34ff20afb-f-f-615aceed82-27=6e3007a52013bfd-81ef3-8cf50039de=4606=862ffa41-2cf66fd-5e"
        "f66fc-46ff63ff82028fef60a=59bf6007cfec60bf6"},
    Glyph{0xe5, 1, -21, 12, 21, "-37deb2-58e31ad1-4d8001f5-4d8001f5-48e31ad1-57deb2-f-b15aceed82-27=6e3007a52013bfd-81ef3-8cf5003"
        "9de=4606=862ffa41-2cf66fd-5ef66fc-46ff63ff82028fef60a=59bf6007cfec60bf6"},
    Glyph{0xe6, 0, -13, 15, 13, "029dfc508dfd6-2b=4a=450096116ffd218fb-6bf7-2fe-69f5-2df-27ce=810b=b14fe510af4-57f8-2af5-57f7-2cf"
        "8-55fd315ffe5125900d=3e6=4c002adeb305ceda30"},
    Glyph{0xe7, 2, -13, 11, 18, "-24adfeb7100a=6709ff82013862ff6-67fd-7afa-7bf9-7afa-77fd-72ff6-79ff820138600a=67-25adfeb61-59c-8"
        "1f6-73fa-42=38-41ceea100"},
    Glyph{0xe8, 1, -19, 13, 19, "003ef3-93ed2-93ec-a4fa-f-f004adfeb4-48=67-26ff82128ff401ef6-48fa05fe-53fe07=a08=a07fb-95fe-91ef6"
        "-97ff830135a7-28=78-33adfeca510"},
    Glyph{0xe9, 1, -19, 13, 19, "-66fc1-73fd1-72ed2-71cd2-f-f004adfeb4-48=67-26ff82128ff401ef6-48fa05fe-53fe07=a08=a07fb-95fe-91e"
        "f6-97ff830135a7-28=78-33adfeca510"},
    Glyph{0xea, 1, -19, 13, 19, "-4cf9-88fbf5-64f70be2-41ea001dc-f-f4adfeb4-48=67-26ff82128ff401ef6-48fa05fe-53fe07=a08=a07fb-95f"
        "e-91ef6-97ff830135a7-28=78-33adfeca510"},
    Glyph{0xeb, 1, -18, 13, 18, "001ff408fd-41ff408fd-f-f-c4adfeb4-48=67-26ff82128ff401ef6-48fa05fe-53fe07=a08=a07fb-95fe-91ef6-9"
        "7ff830135a7-28=78-33adfeca510"},
    Glyph{0xec, 2, -19, 11, 19, "04fd2-75fc-85fa-86f7-f-a=48-4=48-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-3e=8ce=8c"},
    Glyph{0xed, 2, -19, 11, 19, "-58fa-66fb-63fb1-52ec1-f-a=48-4=48-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-3e=8ce=8c"},
    Glyph{0xee, 2, -19, 11, 19, "-21ef7-6bebf3-47f51cd1-23f8002e9-f-8=48-4=48-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-3e=8ce"
        "=8c"},
    Glyph{0xef, 2, -18, 11, 18, "00ff606ff-3ff606ff-f-f-3=48-4=48-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-7af8-3e=8ce=8c"},
    Glyph{0xf0, 1, -18, 12, 18, "002df80015-42df9bfd2-227dffb2-4eb64ef5-85fe3-46be=2c-3a=67007ff82029fe00df9-31ff53ff2-4bf95fe-58"
        "fc6fe-57fc5ff-58fc3ff3-4bfa0df9-32ff607ff7104dfd100a=5e3-36befd9200"},
    Glyph{0xf1, 2, -19, 11, 19, "009ed606f-25f2cf4ac-29d02aed3-f-f-2bf719dfd600bf8d=460bfeb303cfd0bfe1-22ff2bf9-4ef4bf7-4df5bf7-4"
        "df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5"},
    Glyph{0xf2, 1, -19, 12, 19, "004fd2-85fc-95fa-96f7-f-e6cefd92-3b=5e3007ff7104dfd10ef8-32ff63ff2-4afa5fe-58fc6fe-57fc5fe-58fc3"
        "ff2-4afa0ef8-32ff608ff7104cfe100b=5e4-36cefd9200"},
    Glyph{0xf3, 1, -19, 12, 19, "-68fa-76fb-73fb1-62ec1-f-e6cefd92-3b=5e3007ff7104dfd10ef8-32ff63ff2-4afa5fe-58fc6fe-57fc5fe-58fc"
        "3ff2-4afa0ef8-32ff608ff7104cfe100b=5e4-36cefd9200"},
    Glyph{0xf4, 1, -19, 12, 19, "-31ef7-7bebf3-57f51cd1-33f8002e9-f-c6cefd92-3b=5e3007ff7104dfd10ef8-32ff63ff2-4afa5fe-58fc6fe-57"
        "fc5fe-58fc3ff2-4afa0ef8-32ff608ff7104cfe100b=5e4-36cefd9200"},
    Glyph{0xf5, 1, -19, 12, 19, "-29ed606f-35f2cf4ac-39d02aed3-f-f-86cefd92-3b=5e3007ff7104dfd10ef8-32ff63ff2-4afa5fe-58fc6fe-57f"
        "c5fe-58fc3ff2-4afa0ef8-32ff608ff7104cfe100b=5e4-36cefd9200"},
    Glyph{0xf6, 1, -18, 12, 18, "004ff20afb-34ff20afb-f-f-86cefd92-3b=5e3007ff7104dfd10ef8-32ff63ff2-4afa5fe-58fc6fe-57fc5fe-58fc"
        "3ff2-4afa0ef8-32ff608ff7104cfe100b=5e4-36cefd9200"},
    Glyph{0xf7, 1, -14, 13, 12, "-33ffa-83ffa-83ffa-f-e=b6=b6-f-d3ffa-83ffa-83ffa-4"},
    Glyph{0xf8, 0, -14, 14, 15, "-b72-36cefd815f7-2b=5dea-28ff7114dfe1-2ef8-21cff5003ff2001cdcf9005fe-2be28fc005fd00ae307fc004fe0"
        "9e4008fc002ffaf4-2afa-2dff5-22ff6-29ff8204cfe1004fb=5e4002ea04befd92-2181-a"},
    Glyph{0xf9, 2, -19, 11, 19, "04fd2-75fc-85fa-86f7-f-9bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5af8-31ff"
        "59fb-36ff55ff7115eef50c=48df501aeec60df5"},
    Glyph{0xfa, 2, -19, 11, 19, "-58fa-66fb-63fb1-52ec1-f-9bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5af8-31"
        "ff59fb-36ff55ff7115eef50c=48df501aeec60df5"},
    Glyph{0xfb, 2, -19, 11, 19, "-21ef7-6bebf3-47f51cd1-23f8002e9-f-7bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-"
        "4df5af8-31ff59fb-36ff55ff7115eef50c=48df501aeec60df5"},
    Glyph{0xfc, 2, -18, 11, 18, "04ff20afb-24ff20afb-f-f-2bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5bf7-4df5af8-31f"
        "f59fb-36ff55ff7115eef50c=48df501aeec60df5"},
    Glyph{0xfd, 1, -19, 13, 24, "-68fa-86fb-83fb1-72ec1-f-e9fa-6ef53ff1-45fe00cf7-4bf8006fd-31ff2001ef3-27fb-39f9-2df5-33fe103fe-"
        "5cf609f8-56fb1ef2-51ef7fb-79=26-73ffe1-8cfa-81ef4-87fd-84ef7-6d=2c1-6dfea1-6"},
    Glyph{0xfe, 2, -18, 11, 23, "cf6-7cf6-7cf6-7cf6-7cf6-7cf63beeb400cf9=560cffc302afe2cfe1-3df8cf9-48fccf7-45fecf6-44ffcf7-45fec"
        "f9-48fccfe1-3df8cffc302aff2cf9=560cf63beeb400cf6-7cf6-7cf6-7cf6-7cf6-7"},
    Glyph{0xff, 1, -18, 13, 23, "004ff20afb-44ff20afb-f-f-99fa-6ef53ff1-45fe00cf7-4bf8006fd-31ff2001ef3-27fb-39f9-2df5-33fe103fe-"
        "5cf609f8-56fb1ef2-51ef7fb-79=26-73ffe1-8cfa-81ef4-87fd-84ef7-6d=2c1-6dfea1-6"},
    Glyph{0x2026, 0, -4, 14, 4, "1ffd04ffa07ff71ffd04ffa07ff71ffd04ffa07ff71ffd04ffa07ff7"},
};
// clang-format on

}  // namespace

const Glyph* glyph_of(char32_t point) {
  const auto* found = std::lower_bound(kGlyphs.begin(), kGlyphs.end(), point,
                                       [](const Glyph& glyph, char32_t wanted) { return glyph.point < wanted; });
  return found != kGlyphs.end() && found->point == point ? found : nullptr;
}

std::vector<std::uint8_t> shades_of(const Glyph& glyph) {
  const auto digit = [](char c) { return static_cast<std::uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::vector<std::uint8_t> out;
  out.reserve(static_cast<std::size_t>(glyph.width) * static_cast<std::size_t>(glyph.height));
  for (std::size_t i = 0; i < glyph.runs.size(); ++i) {
    const char c = glyph.runs[i];
    if (c == '-' || c == '=') {
      out.insert(out.end(), digit(glyph.runs[++i]) + std::size_t{1}, c == '-' ? 0 : 15);
    } else {
      out.push_back(digit(c));
    }
  }
  return out;
}

}  // namespace attn::report
